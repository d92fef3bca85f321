import dlpark
import numpy as np

photo = dlpark.load_image("photo.jpg")      # decoded by libjpeg-turbo straight into the tensor
print(repr(photo))
pixels = np.from_dlpack(photo)              # the same memory
pixels[...] = pixels[..., ::-1].copy()      # red and blue change places
dlpark.save_image("out.webp", photo)        # which C sees

dlpark.save("photo.safetensors", {"photo": photo})
with dlpark.open("photo.safetensors") as file:
    corner = file["photo"][:8, :8]          # mapped: only these rows are read
