/* The command without the image adapter: pictures are told, and none is read. */
#include "pictures.h"

const cli_codec *const cli_codec_built = NULL;
