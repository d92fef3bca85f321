import dlpark
import numpy as np

photo = dlpark.load_image("photo.jpg")
planes = photo.permute(2, 0, 1)             # the same memory, CHW
print(repr(planes))
print(repr(planes[0, 2:10, ::160]))         # every 160th red value of eight rows
packed = planes.copy()                      # compact, in memory of its own
print(packed.strides, packed.is_copied, np.shares_memory(planes.numpy(), photo.numpy()))
print(photo.item(0, 0, 2), photo[0, 0].tolist())
