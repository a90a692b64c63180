//! A kernel in Rust without its core library, so that any rustc compiles it: see
//! scripts/record_foreign.py.
#![feature(no_core, lang_items, abi_ptx, intrinsics, rustc_attrs, link_llvm_intrinsics, auto_traits,
    arbitrary_self_types)]
#![allow(internal_features)]
#![no_core]
#![no_std]
#![crate_type = "lib"]
#[lang = "pointee_sized"] pub trait PointeeSized {}
#[lang = "meta_sized"] pub trait MetaSized: PointeeSized {}
#[lang = "sized"] pub trait Sized: MetaSized {}
#[lang = "freeze"] pub unsafe auto trait Freeze {}
#[lang = "destruct"] pub trait Destruct: PointeeSized {}
#[lang = "copy"] pub trait Copy {}
impl Copy for i32 {}
impl Copy for isize {}
impl Copy for f32 {}
impl<T: PointeeSized> Copy for *const T {}
impl<T: PointeeSized> Copy for *mut T {}
#[lang = "add"] pub trait Add<R = Self> { type Output; fn add(self, r: R) -> Self::Output; }
impl Add for i32 { type Output = i32; #[inline(always)] fn add(self, r: i32) -> i32 { self + r } }
impl Add for f32 { type Output = f32; #[inline(always)] fn add(self, r: f32) -> f32 { self + r } }
#[lang = "mul"] pub trait Mul<R = Self> { type Output; fn mul(self, r: R) -> Self::Output; }
impl Mul for i32 { type Output = i32; #[inline(always)] fn mul(self, r: i32) -> i32 { self * r } }
impl Mul for f32 { type Output = f32; #[inline(always)] fn mul(self, r: f32) -> f32 { self * r } }
#[lang = "partial_ord"] pub trait PartialOrd<R: PointeeSized = Self> { fn lt(&self, o: &R) -> bool; }
impl PartialOrd for i32 { #[inline(always)] fn lt(&self, o: &i32) -> bool { *self < *o } }
extern "C" {
    #[link_name = "llvm.nvvm.read.ptx.sreg.tid.x"] fn tid() -> i32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.ctaid.x"] fn ctaid() -> i32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.ntid.x"] fn ntid() -> i32;
}
#[rustc_intrinsic] pub const unsafe fn offset<P, D>(p: P, d: D) -> P;
#[no_mangle]
pub unsafe extern "ptx-kernel" fn saxpy(x: *const f32, y: *mut f32, a: f32, n: i32) {
    let i = ctaid() * ntid() + tid();
    if i < n {
        let place = i as isize;
        let to = offset(y, place);
        *to = a * *offset(x, place) + *to;
    }
}
