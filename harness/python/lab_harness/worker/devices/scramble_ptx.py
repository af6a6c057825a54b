"""A kernel that combines memory with a word by exclusive or. A second run with the same word restores the memory.

One block works on one chunk of the table that digester.py writes: 32 bytes, with the address first and the words at 16.
"""

TEXT = """.version 6.4
.target sm_70
.address_size 64

.visible .entry lab_scramble(.param .u64 table, .param .u32 key)
.maxntid 256, 1, 1
{
	.reg .pred %end;
	.reg .b32 %key, %block, %words, %i, %word;
	.reg .b64 %chunk, %offset, %memory, %at;
	ld.param.u64 %chunk, [table];
	ld.param.u32 %key, [key];
	mov.u32 %block, %ctaid.x;
	mul.wide.u32 %offset, %block, 32;
	add.s64 %chunk, %chunk, %offset;
	ld.global.u64 %memory, [%chunk];
	ld.global.u32 %words, [%chunk+16];
	mov.u32 %i, %tid.x;
NEXT:
	setp.ge.u32 %end, %i, %words;
	@%end bra DONE;
	mul.wide.u32 %offset, %i, 4;
	add.s64 %at, %memory, %offset;
	ld.global.u32 %word, [%at];
	xor.b32 %word, %word, %key;
	st.global.u32 [%at], %word;
	add.u32 %i, %i, 256;
	bra NEXT;
DONE:
	ret;
}
"""
