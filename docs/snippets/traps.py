import calls
import mine
import torch

x = torch.arange(3.0, requires_grad=True)
print(mine.scale(x))                # tensor([0., 2., 4.]): read as it is, and the result knows nothing of gradients
try:
    calls.clip(x)
except BufferError as error:
    print(error)                    # Tensor requires gradients, which would not see that it is written: detach it first
calls.clip(x.detach())

z = torch.tensor([1 + 2j], dtype=torch.complex128).conj()
print(z.imag)                       # tensor([-2.], dtype=torch.float64): a view, with a mark that turns the sign
print(calls.mean(z.imag))           # tensor(2., dtype=torch.float64): nobody in C sees the mark
print(calls.mean(z.imag.resolve_neg()))
