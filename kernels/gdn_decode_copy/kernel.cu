// The kernel of gdn_decode, as it is.
#include "../gdn_decode/kernel.cu"
