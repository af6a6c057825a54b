"""The text of harness/device/src/cuda/driver/digest.ptx: the package is copied without the other files of the repository."""

TEXT = """// Made from digest.cu, which says how.
.version 6.4
.target sm_70
.address_size 64

	// .globl	lab_digest
// _ZZ10lab_digestE4part has been demoted
.extern .shared .align 16 .b8 shared[];

.visible .entry lab_digest(
	.param .u64 lab_digest_param_0,
	.param .u64 lab_digest_param_1,
	.param .u64 lab_digest_param_2
)
.maxntid 256, 1, 1
{
	.reg .pred 	%p<47>;
	.reg .b32 	%r<139>;
	.reg .b64 	%rd<182>;
	// demoted variable
	.shared .align 8 .b8 _ZZ10lab_digestE4part[64];

	ld.param.u64 	%rd26, [lab_digest_param_0];
	ld.param.u64 	%rd23, [lab_digest_param_1];
	ld.param.u64 	%rd24, [lab_digest_param_2];
	cvta.to.global.u64 	%rd27, %rd26;
	mov.u32 	%r31, %ctaid.x;
	mul.wide.u32 	%rd28, %r31, 32;
	add.s64 	%rd29, %rd27, %rd28;
	ld.global.u64 	%rd1, [%rd29];
	mov.u64 	%rd173, 0;
	ld.global.u64 	%rd2, [%rd29+8];
	ld.global.v2.u32 	{%r32, %r33}, [%rd29+16];
	ld.global.u32 	%r3, [%rd29+24];
	mov.u32 	%r130, %tid.x;
	setp.ge.u32 	%p1, %r130, %r32;
	@%p1 bra 	$L__BB0_35;

	add.s32 	%r5, %r32, -1;
	mov.u64 	%rd173, 0;

$L__BB0_2:
	cvt.u64.u32 	%rd4, %r130;
	setp.ge.u32 	%p2, %r130, %r32;
	mov.u32 	%r132, 0;
	mov.u32 	%r131, %r132;
	@%p2 bra 	$L__BB0_4;

	shl.b64 	%rd32, %rd4, 2;
	add.s64 	%rd31, %rd1, %rd32;
	// begin inline asm
	ld.global.cg.u32 %r131, [%rd31];
	// end inline asm

$L__BB0_4:
	cvt.u32.u64 	%r37, %rd4;
	add.s32 	%r38, %r37, 256;
	setp.ge.u32 	%p3, %r38, %r32;
	@%p3 bra 	$L__BB0_6;

	shl.b64 	%rd34, %rd4, 2;
	add.s64 	%rd35, %rd1, %rd34;
	add.s64 	%rd33, %rd35, 1024;
	// begin inline asm
	ld.global.cg.u32 %r132, [%rd33];
	// end inline asm

$L__BB0_6:
	add.s32 	%r11, %r37, 512;
	setp.ge.u32 	%p4, %r11, %r32;
	mov.u32 	%r134, 0;
	mov.u32 	%r133, %r134;
	@%p4 bra 	$L__BB0_8;

	shl.b64 	%rd37, %rd4, 2;
	add.s64 	%rd38, %rd1, %rd37;
	add.s64 	%rd36, %rd38, 2048;
	// begin inline asm
	ld.global.cg.u32 %r133, [%rd36];
	// end inline asm

$L__BB0_8:
	add.s32 	%r14, %r37, 768;
	setp.ge.u32 	%p5, %r14, %r32;
	@%p5 bra 	$L__BB0_10;

	shl.b64 	%rd40, %rd4, 2;
	add.s64 	%rd41, %rd1, %rd40;
	add.s64 	%rd39, %rd41, 3072;
	// begin inline asm
	ld.global.cg.u32 %r134, [%rd39];
	// end inline asm

$L__BB0_10:
	add.s32 	%r17, %r37, 1024;
	setp.ge.u32 	%p6, %r17, %r32;
	mov.u32 	%r136, 0;
	mov.u32 	%r135, %r136;
	@%p6 bra 	$L__BB0_12;

	shl.b64 	%rd43, %rd4, 2;
	add.s64 	%rd44, %rd1, %rd43;
	add.s64 	%rd42, %rd44, 4096;
	// begin inline asm
	ld.global.cg.u32 %r135, [%rd42];
	// end inline asm

$L__BB0_12:
	add.s32 	%r20, %r37, 1280;
	setp.ge.u32 	%p7, %r20, %r32;
	@%p7 bra 	$L__BB0_14;

	shl.b64 	%rd46, %rd4, 2;
	add.s64 	%rd47, %rd1, %rd46;
	add.s64 	%rd45, %rd47, 5120;
	// begin inline asm
	ld.global.cg.u32 %r136, [%rd45];
	// end inline asm

$L__BB0_14:
	add.s32 	%r23, %r37, 1536;
	setp.ge.u32 	%p8, %r23, %r32;
	mov.u32 	%r138, 0;
	mov.u32 	%r137, %r138;
	@%p8 bra 	$L__BB0_16;

	shl.b64 	%rd49, %rd4, 2;
	add.s64 	%rd50, %rd1, %rd49;
	add.s64 	%rd48, %rd50, 6144;
	// begin inline asm
	ld.global.cg.u32 %r137, [%rd48];
	// end inline asm

$L__BB0_16:
	add.s32 	%r26, %r37, 1792;
	setp.ge.u32 	%p9, %r26, %r32;
	@%p9 bra 	$L__BB0_18;

	shl.b64 	%rd52, %rd4, 2;
	add.s64 	%rd53, %rd1, %rd52;
	add.s64 	%rd51, %rd53, 7168;
	// begin inline asm
	ld.global.cg.u32 %r138, [%rd51];
	// end inline asm

$L__BB0_18:
	setp.ge.u32 	%p10, %r37, %r32;
	@%p10 bra 	$L__BB0_20;

	add.s64 	%rd54, %rd2, %rd4;
	setp.eq.s32 	%p11, %r37, %r5;
	selp.b32 	%r60, %r3, -1, %p11;
	setp.eq.s32 	%p12, %r37, 0;
	selp.b32 	%r61, %r33, -1, %p12;
	and.b32  	%r62, %r131, %r61;
	and.b32  	%r63, %r62, %r60;
	cvt.u64.u32 	%rd55, %r63;
	bfi.b64 	%rd56, %rd54, %rd55, 32, 32;
	xor.b64  	%rd57, %rd56, %rd24;
	mul.lo.s64 	%rd58, %rd57, -7046029254386353131;
	shr.u64 	%rd59, %rd58, 32;
	xor.b64  	%rd60, %rd59, %rd58;
	mul.lo.s64 	%rd61, %rd60, -2960836687051489901;
	shr.u64 	%rd62, %rd61, 29;
	xor.b64  	%rd63, %rd62, %rd61;
	add.s64 	%rd173, %rd63, %rd173;

$L__BB0_20:
	setp.eq.s32 	%p14, %r38, 0;
	selp.b32 	%r66, %r33, -1, %p14;
	and.b32  	%r67, %r132, %r66;
	setp.eq.s32 	%p15, %r38, %r5;
	selp.b32 	%r68, %r3, -1, %p15;
	and.b32  	%r29, %r67, %r68;
	@%p3 bra 	$L__BB0_22;

	cvt.u64.u32 	%rd64, %r38;
	add.s64 	%rd65, %rd2, %rd64;
	cvt.u64.u32 	%rd66, %r29;
	bfi.b64 	%rd67, %rd65, %rd66, 32, 32;
	xor.b64  	%rd68, %rd67, %rd24;
	mul.lo.s64 	%rd69, %rd68, -7046029254386353131;
	shr.u64 	%rd70, %rd69, 32;
	xor.b64  	%rd71, %rd70, %rd69;
	mul.lo.s64 	%rd72, %rd71, -2960836687051489901;
	shr.u64 	%rd73, %rd72, 29;
	xor.b64  	%rd74, %rd73, %rd72;
	add.s64 	%rd173, %rd74, %rd173;

$L__BB0_22:
	@%p4 bra 	$L__BB0_24;

	cvt.u64.u32 	%rd75, %r11;
	add.s64 	%rd76, %rd2, %rd75;
	setp.eq.s32 	%p17, %r11, %r5;
	selp.b32 	%r71, %r3, -1, %p17;
	setp.eq.s32 	%p18, %r11, 0;
	selp.b32 	%r72, %r33, -1, %p18;
	and.b32  	%r73, %r133, %r72;
	and.b32  	%r74, %r73, %r71;
	cvt.u64.u32 	%rd77, %r74;
	bfi.b64 	%rd78, %rd76, %rd77, 32, 32;
	xor.b64  	%rd79, %rd78, %rd24;
	mul.lo.s64 	%rd80, %rd79, -7046029254386353131;
	shr.u64 	%rd81, %rd80, 32;
	xor.b64  	%rd82, %rd81, %rd80;
	mul.lo.s64 	%rd83, %rd82, -2960836687051489901;
	shr.u64 	%rd84, %rd83, 29;
	xor.b64  	%rd85, %rd84, %rd83;
	add.s64 	%rd173, %rd85, %rd173;

$L__BB0_24:
	@%p5 bra 	$L__BB0_26;

	cvt.u64.u32 	%rd86, %r14;
	add.s64 	%rd87, %rd2, %rd86;
	setp.eq.s32 	%p20, %r14, %r5;
	selp.b32 	%r75, %r3, -1, %p20;
	setp.eq.s32 	%p21, %r14, 0;
	selp.b32 	%r76, %r33, -1, %p21;
	and.b32  	%r77, %r134, %r76;
	and.b32  	%r78, %r77, %r75;
	cvt.u64.u32 	%rd88, %r78;
	bfi.b64 	%rd89, %rd87, %rd88, 32, 32;
	xor.b64  	%rd90, %rd89, %rd24;
	mul.lo.s64 	%rd91, %rd90, -7046029254386353131;
	shr.u64 	%rd92, %rd91, 32;
	xor.b64  	%rd93, %rd92, %rd91;
	mul.lo.s64 	%rd94, %rd93, -2960836687051489901;
	shr.u64 	%rd95, %rd94, 29;
	xor.b64  	%rd96, %rd95, %rd94;
	add.s64 	%rd173, %rd96, %rd173;

$L__BB0_26:
	@%p6 bra 	$L__BB0_28;

	cvt.u64.u32 	%rd97, %r17;
	add.s64 	%rd98, %rd2, %rd97;
	setp.eq.s32 	%p23, %r17, %r5;
	selp.b32 	%r79, %r3, -1, %p23;
	setp.eq.s32 	%p24, %r17, 0;
	selp.b32 	%r80, %r33, -1, %p24;
	and.b32  	%r81, %r135, %r80;
	and.b32  	%r82, %r81, %r79;
	cvt.u64.u32 	%rd99, %r82;
	bfi.b64 	%rd100, %rd98, %rd99, 32, 32;
	xor.b64  	%rd101, %rd100, %rd24;
	mul.lo.s64 	%rd102, %rd101, -7046029254386353131;
	shr.u64 	%rd103, %rd102, 32;
	xor.b64  	%rd104, %rd103, %rd102;
	mul.lo.s64 	%rd105, %rd104, -2960836687051489901;
	shr.u64 	%rd106, %rd105, 29;
	xor.b64  	%rd107, %rd106, %rd105;
	add.s64 	%rd173, %rd107, %rd173;

$L__BB0_28:
	@%p7 bra 	$L__BB0_30;

	cvt.u64.u32 	%rd108, %r20;
	add.s64 	%rd109, %rd2, %rd108;
	setp.eq.s32 	%p26, %r20, %r5;
	selp.b32 	%r83, %r3, -1, %p26;
	setp.eq.s32 	%p27, %r20, 0;
	selp.b32 	%r84, %r33, -1, %p27;
	and.b32  	%r85, %r136, %r84;
	and.b32  	%r86, %r85, %r83;
	cvt.u64.u32 	%rd110, %r86;
	bfi.b64 	%rd111, %rd109, %rd110, 32, 32;
	xor.b64  	%rd112, %rd111, %rd24;
	mul.lo.s64 	%rd113, %rd112, -7046029254386353131;
	shr.u64 	%rd114, %rd113, 32;
	xor.b64  	%rd115, %rd114, %rd113;
	mul.lo.s64 	%rd116, %rd115, -2960836687051489901;
	shr.u64 	%rd117, %rd116, 29;
	xor.b64  	%rd118, %rd117, %rd116;
	add.s64 	%rd173, %rd118, %rd173;

$L__BB0_30:
	@%p8 bra 	$L__BB0_32;

	cvt.u64.u32 	%rd119, %r23;
	add.s64 	%rd120, %rd2, %rd119;
	setp.eq.s32 	%p29, %r23, %r5;
	selp.b32 	%r87, %r3, -1, %p29;
	setp.eq.s32 	%p30, %r23, 0;
	selp.b32 	%r88, %r33, -1, %p30;
	and.b32  	%r89, %r137, %r88;
	and.b32  	%r90, %r89, %r87;
	cvt.u64.u32 	%rd121, %r90;
	bfi.b64 	%rd122, %rd120, %rd121, 32, 32;
	xor.b64  	%rd123, %rd122, %rd24;
	mul.lo.s64 	%rd124, %rd123, -7046029254386353131;
	shr.u64 	%rd125, %rd124, 32;
	xor.b64  	%rd126, %rd125, %rd124;
	mul.lo.s64 	%rd127, %rd126, -2960836687051489901;
	shr.u64 	%rd128, %rd127, 29;
	xor.b64  	%rd129, %rd128, %rd127;
	add.s64 	%rd173, %rd129, %rd173;

$L__BB0_32:
	@%p9 bra 	$L__BB0_34;

	cvt.u64.u32 	%rd130, %r26;
	add.s64 	%rd131, %rd2, %rd130;
	setp.eq.s32 	%p32, %r26, %r5;
	selp.b32 	%r91, %r3, -1, %p32;
	setp.eq.s32 	%p33, %r26, 0;
	selp.b32 	%r92, %r33, -1, %p33;
	and.b32  	%r93, %r138, %r92;
	and.b32  	%r94, %r93, %r91;
	cvt.u64.u32 	%rd132, %r94;
	bfi.b64 	%rd133, %rd131, %rd132, 32, 32;
	xor.b64  	%rd134, %rd133, %rd24;
	mul.lo.s64 	%rd135, %rd134, -7046029254386353131;
	shr.u64 	%rd136, %rd135, 32;
	xor.b64  	%rd137, %rd136, %rd135;
	mul.lo.s64 	%rd138, %rd137, -2960836687051489901;
	shr.u64 	%rd139, %rd138, 29;
	xor.b64  	%rd140, %rd139, %rd138;
	add.s64 	%rd173, %rd140, %rd173;

$L__BB0_34:
	add.s32 	%r130, %r37, 2048;
	setp.lt.u32 	%p34, %r130, %r32;
	@%p34 bra 	$L__BB0_2;

$L__BB0_35:
	// begin inline asm
	mov.b64 {%r96,%r97}, %rd173;
	// end inline asm
	mov.u32 	%r116, 2;
	mov.u32 	%r117, 31;
	mov.u32 	%r118, 16;
	mov.u32 	%r119, -1;
	shfl.sync.down.b32 	%r99|%p35, %r97, %r118, %r117, %r119;
	shfl.sync.down.b32 	%r98|%p36, %r96, %r118, %r117, %r119;
	// begin inline asm
	mov.b64 %rd142, {%r98,%r99};
	// end inline asm
	add.s64 	%rd143, %rd142, %rd173;
	// begin inline asm
	mov.b64 {%r100,%r101}, %rd143;
	// end inline asm
	mov.u32 	%r120, 8;
	shfl.sync.down.b32 	%r103|%p37, %r101, %r120, %r117, %r119;
	shfl.sync.down.b32 	%r102|%p38, %r100, %r120, %r117, %r119;
	// begin inline asm
	mov.b64 %rd144, {%r102,%r103};
	// end inline asm
	add.s64 	%rd145, %rd144, %rd143;
	// begin inline asm
	mov.b64 {%r104,%r105}, %rd145;
	// end inline asm
	mov.u32 	%r121, 4;
	shfl.sync.down.b32 	%r107|%p39, %r105, %r121, %r117, %r119;
	shfl.sync.down.b32 	%r106|%p40, %r104, %r121, %r117, %r119;
	// begin inline asm
	mov.b64 %rd146, {%r106,%r107};
	// end inline asm
	add.s64 	%rd147, %rd146, %rd145;
	// begin inline asm
	mov.b64 {%r108,%r109}, %rd147;
	// end inline asm
	shfl.sync.down.b32 	%r111|%p41, %r109, %r116, %r117, %r119;
	shfl.sync.down.b32 	%r110|%p42, %r108, %r116, %r117, %r119;
	// begin inline asm
	mov.b64 %rd148, {%r110,%r111};
	// end inline asm
	add.s64 	%rd149, %rd148, %rd147;
	// begin inline asm
	mov.b64 {%r112,%r113}, %rd149;
	// end inline asm
	mov.u32 	%r122, 1;
	shfl.sync.down.b32 	%r115|%p43, %r113, %r122, %r117, %r119;
	shfl.sync.down.b32 	%r114|%p44, %r112, %r122, %r117, %r119;
	// begin inline asm
	mov.b64 %rd150, {%r114,%r115};
	// end inline asm
	add.s64 	%rd22, %rd150, %rd149;
	mov.u32 	%r123, %tid.x;
	and.b32  	%r124, %r123, 31;
	setp.ne.s32 	%p45, %r124, 0;
	@%p45 bra 	$L__BB0_37;

	shr.u32 	%r126, %r123, 5;
	mul.wide.u32 	%rd151, %r126, 8;
	mov.u64 	%rd152, _ZZ10lab_digestE4part;
	add.s64 	%rd153, %rd152, %rd151;
	st.shared.u64 	[%rd153], %rd22;

$L__BB0_37:
	bar.sync 	0;
	setp.ne.s32 	%p46, %r123, 0;
	@%p46 bra 	$L__BB0_39;

	mov.u32 	%r129, %ctaid.x;
	ld.shared.u64 	%rd154, [_ZZ10lab_digestE4part];
	ld.shared.u64 	%rd155, [_ZZ10lab_digestE4part+8];
	add.s64 	%rd156, %rd155, %rd154;
	ld.shared.u64 	%rd157, [_ZZ10lab_digestE4part+16];
	add.s64 	%rd158, %rd157, %rd156;
	ld.shared.u64 	%rd159, [_ZZ10lab_digestE4part+24];
	add.s64 	%rd160, %rd159, %rd158;
	ld.shared.u64 	%rd161, [_ZZ10lab_digestE4part+32];
	add.s64 	%rd162, %rd161, %rd160;
	ld.shared.u64 	%rd163, [_ZZ10lab_digestE4part+40];
	add.s64 	%rd164, %rd163, %rd162;
	ld.shared.u64 	%rd165, [_ZZ10lab_digestE4part+48];
	add.s64 	%rd166, %rd165, %rd164;
	ld.shared.u64 	%rd167, [_ZZ10lab_digestE4part+56];
	add.s64 	%rd168, %rd167, %rd166;
	cvta.to.global.u64 	%rd169, %rd23;
	mul.wide.u32 	%rd170, %r129, 8;
	add.s64 	%rd171, %rd169, %rd170;
	st.global.u64 	[%rd171], %rd168;

$L__BB0_39:
	ret;

}
	// .globl	lab_fill
.visible .entry lab_fill(
	.param .u64 lab_fill_param_0
)
.maxntid 256, 1, 1
{
	.reg .pred 	%p<6>;
	.reg .b32 	%r<35>;
	.reg .b64 	%rd<11>;


	ld.param.u64 	%rd2, [lab_fill_param_0];
	cvta.to.global.u64 	%rd3, %rd2;
	mov.u32 	%r16, %ctaid.x;
	mul.wide.u32 	%rd4, %r16, 32;
	add.s64 	%rd5, %rd3, %rd4;
	ld.global.u64 	%rd6, [%rd5];
	cvta.to.global.u64 	%rd1, %rd6;
	ld.global.v2.u32 	{%r17, %r18}, [%rd5+16];
	ld.global.v2.u32 	{%r19, %r20}, [%rd5+24];
	mov.u32 	%r21, %tid.x;
	setp.ge.u32 	%p1, %r21, %r17;
	@%p1 bra 	$L__BB1_5;

	add.s32 	%r33, %r21, 1;
	sub.s32 	%r32, %r21, %r17;

$L__BB1_2:
	setp.eq.s32 	%p2, %r33, 1;
	selp.b32 	%r23, %r18, -1, %p2;
	setp.eq.s32 	%p3, %r32, -1;
	selp.b32 	%r24, %r19, -1, %p3;
	and.b32  	%r10, %r23, %r24;
	setp.eq.s32 	%p4, %r10, -1;
	mov.u32 	%r34, %r20;
	@%p4 bra 	$L__BB1_4;

	add.s32 	%r25, %r33, -1;
	mul.wide.u32 	%rd7, %r25, 4;
	add.s64 	%rd8, %rd1, %rd7;
	not.b32 	%r26, %r10;
	ld.global.u32 	%r27, [%rd8];
	and.b32  	%r28, %r27, %r26;
	and.b32  	%r29, %r10, %r20;
	or.b32  	%r34, %r28, %r29;

$L__BB1_4:
	add.s32 	%r30, %r33, -1;
	mul.wide.u32 	%rd9, %r30, 4;
	add.s64 	%rd10, %rd1, %rd9;
	st.global.u32 	[%rd10], %r34;
	add.s32 	%r32, %r32, 256;
	add.s32 	%r15, %r33, 256;
	add.s32 	%r31, %r33, 255;
	setp.lt.u32 	%p5, %r31, %r17;
	mov.u32 	%r33, %r15;
	@%p5 bra 	$L__BB1_2;

$L__BB1_5:
	ret;

}
	// .globl	lab_noise
.visible .entry lab_noise(
	.param .u64 lab_noise_param_0,
	.param .u64 lab_noise_param_1,
	.param .u64 lab_noise_param_2,
	.param .u64 lab_noise_param_3,
	.param .u64 lab_noise_param_4
)
.maxntid 256, 1, 1
{
	.reg .pred 	%p<5>;
	.reg .b32 	%r<12>;
	.reg .b64 	%rd<27>;


	ld.param.u64 	%rd6, [lab_noise_param_0];
	ld.param.u64 	%rd7, [lab_noise_param_1];
	ld.param.u64 	%rd8, [lab_noise_param_2];
	ld.param.u64 	%rd9, [lab_noise_param_3];
	ld.param.u64 	%rd10, [lab_noise_param_4];
	mov.u32 	%r1, %ctaid.x;
	mul.wide.u32 	%rd11, %r1, 256;
	mov.u32 	%r2, %tid.x;
	cvt.u64.u32 	%rd12, %r2;
	add.s64 	%rd26, %rd11, %rd12;
	setp.ge.u64 	%p1, %rd26, %rd7;
	@%p1 bra 	$L__BB2_3;

	mov.u32 	%r3, %nctaid.x;
	mul.wide.u32 	%rd2, %r3, 256;
	cvta.to.global.u64 	%rd3, %rd6;

$L__BB2_2:
	add.s64 	%rd13, %rd26, %rd8;
	and.b64  	%rd14, %rd13, %rd9;
	xor.b64  	%rd15, %rd14, %rd10;
	mul.lo.s64 	%rd16, %rd15, -7046029254386353131;
	shr.u64 	%rd17, %rd16, 32;
	xor.b64  	%rd18, %rd17, %rd16;
	mul.lo.s64 	%rd19, %rd18, -2960836687051489901;
	shr.u64 	%rd20, %rd19, 29;
	xor.b64  	%rd21, %rd20, %rd19;
	shr.u64 	%rd22, %rd21, 32;
	cvt.u32.u64 	%r4, %rd22;
	setp.lt.u64 	%p2, %rd14, 1152921504606846976;
	and.b32  	%r5, %r4, 67044351;
	or.b32  	%r6, %r5, 2013296640;
	and.b32  	%r7, %r4, 8323199;
	or.b32  	%r8, %r7, 1065369472;
	selp.b32 	%r9, %r6, %r8, %p2;
	and.b64  	%rd23, %rd14, 1;
	setp.eq.b64 	%p3, %rd23, 1;
	selp.b32 	%r10, -2147450880, 0, %p3;
	or.b32  	%r11, %r9, %r10;
	shl.b64 	%rd24, %rd26, 2;
	add.s64 	%rd25, %rd3, %rd24;
	st.global.u32 	[%rd25], %r11;
	add.s64 	%rd26, %rd26, %rd2;
	setp.lt.u64 	%p4, %rd26, %rd7;
	@%p4 bra 	$L__BB2_2;

$L__BB2_3:
	ret;

}
	// .globl	lab_scrub
.visible .entry lab_scrub(
	.param .u32 lab_scrub_param_0,
	.param .u32 lab_scrub_param_1
)
.maxntid 1024, 1, 1
{
	.reg .pred 	%p<3>;
	.reg .b32 	%r<7>;
	.reg .b64 	%rd<4>;


	ld.param.u32 	%r4, [lab_scrub_param_0];
	ld.param.u32 	%r5, [lab_scrub_param_1];
	mov.u32 	%r6, %tid.x;
	setp.ge.u32 	%p1, %r6, %r4;
	@%p1 bra 	$L__BB3_3;

	mov.u64 	%rd2, shared;

$L__BB3_2:
	mul.wide.u32 	%rd1, %r6, 4;
	add.s64 	%rd3, %rd2, %rd1;
	st.volatile.shared.u32 	[%rd3], %r5;
	add.s32 	%r6, %r6, 1024;
	setp.lt.u32 	%p2, %r6, %r4;
	@%p2 bra 	$L__BB3_2;

$L__BB3_3:
	ret;

}
	// .globl	lab_wait
.visible .entry lab_wait(
	.param .u64 lab_wait_param_0
)
{
	.reg .pred 	%p<4>;
	.reg .b32 	%r<5>;
	.reg .b64 	%rd<6>;


	ld.param.u64 	%rd2, [lab_wait_param_0];
	// begin inline asm
	mov.u64 %rd3, %globaltimer;
	// end inline asm
	mov.u32 	%r4, 0;

$L__BB4_1:
	// begin inline asm
	mov.u64 %rd4, %globaltimer;
	// end inline asm
	sub.s64 	%rd5, %rd4, %rd3;
	setp.lt.u64 	%p1, %rd5, %rd2;
	add.s32 	%r4, %r4, 1;
	setp.lt.u32 	%p2, %r4, 1000000;
	and.pred  	%p3, %p1, %p2;
	@%p3 bra 	$L__BB4_1;

	ret;

}

"""
