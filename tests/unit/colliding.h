/* SPDX-License-Identifier: MIT */
/*
 * Names of equal major hash under the legacy dx hash (signed or not: they are ASCII), found by
 * search: the first group has 0x2468acf0, the second one 0x04000002.
 */
#ifndef XW_TESTS_COLLIDING_H
#define XW_TESTS_COLLIDING_H

static const char *const colliding_0[] = {
	"0TEho8", "4tdB_+", "5%Hx@c", "68x+-e", "6l5bzn", "7h3Kxw", "7~AuF+", "8n-iYH", "96@R0x",
	"9j(NDV", "bjOZ$E", "c.d^%5", "d8y+-v", "ednxjn", "g8pI1u", "gDk89r", "hYtDf~", "jnm.T6",
	"kv-T+@", "l.kY5(", "o4=6X!", "p2HKkX", "pJIpLs", "p!mDQ_", "p.itDo", "rxtqWR", "rK4+YO",
	"sOvL!f", "s%,B(f", "t3^-ZD", "uTxbJP", "wBEB+T", "y4860W", "yaAyeK", "yyPd.t", "yA3e_y",
	"A9udQp", "AFcvGc", "AJz=jb", "A.z9$x", "A$T^+U", "Dpg9,O", "D~^~R2", "EO-=vU", "FCfm~q",
	"GLLdKd", "GW4wIz", "HwBHS5", "I5_woy", "J2tB4t", "KaLQ$S", "LeC,#q", "LrnA8%", "LLVVkH",
	"LO8zuL", "MjCuW2", "M+!9^5", "N9iC6E", "OcR16J", "Rp=4cQ", "RBls@j", "R^0q-u", "T9C!1N",
	"Tzyb7X", "TKSKiu", "UKx_9q", "UWe!wA", "XcuHfw", "Xl5stY", "Z@4L%A", "Z@o4ou", "+yPGA4",
	"+BHQdY", "=NcI5(", "@0R59_", "!u9DAH", ",2TB@W", ",gq=2g", ",ACScn", ",$J!5j",
};
static const char *const colliding_1[] = {
	"1jjl0W", "1jYHq(", "1-6~64", "37W.+8", "38Q7ij", "3-x_k!", "3_^rDj", "42BLxm", "46NTyj",
	"48pk=r", "4aVd^D", "4aVdD^", "4Da(aj", "4%%2ef", "6Ji^RL", "87pJ=+", "87pJ+=", "8g^d2T",
	"8l^8K6", "awDEO@", "a~YV^M", "booUE2", "booUO(", "c8ip!c", "cLzi7.", "d~(-Vc", "d#Yo4k",
	"etH_A^", "fnmo+O", "fQPF_f", "hnPie6", "hR%4sr", "iawRma", "iu-m,g", "jbN=L3", "j(z7KP",
	"kkD8UU", "lSODJX", "l^aw!g", "mcRIJZ", "oTX3MM", "rm~+d~", "rGq#g%", "sFshIS", "s-g0Xh",
	"s-g0hX", "t8wtV8", "tGy_4g", "uTQ5QQ", "vq~ci~", "vA_xkc", "Ac1Qjl", "CW~gML", "DB1fl3",
	"DKAHtp", "HNOtxQ", "J-7vg2", "KlIv#d", "KFz(%w", "NuabJ+", "Oj@v-H", "OQB5U^", "O$Efv@",
	"Pp$#1Q", "Rf~nUk", "Shaeij", "TzOxIc", "V5s7Wo", "Wc56I.", "WforWp", "WrAezt", "WrAetz",
	"W!jz6N", "W(l-Tp", "W(l-pT", "Xcwnw@", "X%P=YK", "+BjkRi", "+CAl~v", "+.m^%Y",
};

#endif
