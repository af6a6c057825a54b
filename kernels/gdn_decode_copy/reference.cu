// The reference of gdn_decode, as it is.
#include "../gdn_decode/reference.cu"
