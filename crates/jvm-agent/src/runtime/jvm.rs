//! Thin wrappers of the JNI and JVMTI functions that the agent calls.

use std::ffi::{CStr, CString, c_char};
use std::ptr::null_mut;

use jvmti_bindings::sys::jni::{
    JNIEnv, JNINativeInterface_, jboolean, jclass, jfieldID, jint, jlong, jmethodID, jobject,
    jvalue,
};
use jvmti_bindings::sys::jvmti::{jvmtiEnv, jvmtiError, jvmtiFrameInfo, jvmtiInterface_1_};

/// The JNI environment of the current thread.
#[derive(Clone, Copy)]
pub struct Jni(*mut JNIEnv);

impl Jni {
    /// Wraps the pointer that the virtual machine gave to a native method or callback.
    ///
    /// # Safety
    /// It must be the environment of the current thread, and not be used by another one.
    pub unsafe fn new(env: *mut JNIEnv) -> Jni {
        Jni(env)
    }

    fn functions(&self) -> &JNINativeInterface_ {
        // SAFETY: `new` got a valid environment, whose function table never goes away.
        unsafe { &**self.0 }
    }

    /// Clears an exception that a call left; whether there was one.
    pub fn clear(self) -> bool {
        // SAFETY: the environment is valid (see `new`).
        unsafe {
            let thrown = (self.functions().ExceptionCheck)(self.0) != 0;
            if thrown {
                (self.functions().ExceptionClear)(self.0);
            }
            thrown
        }
    }

    /// A class of the platform.
    pub fn find_class(self, name: &CStr) -> Option<jclass> {
        // SAFETY: the environment is valid, the name ends with 0.
        let class = unsafe { (self.functions().FindClass)(self.0, name.as_ptr()) };
        self.result(class)
    }

    fn result(self, object: jobject) -> Option<jobject> {
        (!self.clear() && !object.is_null()).then_some(object)
    }

    /// Keeps an object for ever.
    pub fn keep(self, object: jobject) -> jobject {
        // SAFETY: the reference is valid in this frame.
        unsafe { (self.functions().NewGlobalRef)(self.0, object) }
    }

    /// Drops a local reference.
    pub fn drop_local(self, object: jobject) {
        // SAFETY: the reference is local to this frame.
        unsafe { (self.functions().DeleteLocalRef)(self.0, object) }
    }

    /// A field of an object.
    pub fn field(self, class: jclass, name: &CStr, kind: &CStr) -> Option<jfieldID> {
        // SAFETY: class and strings are valid.
        let id =
            unsafe { (self.functions().GetFieldID)(self.0, class, name.as_ptr(), kind.as_ptr()) };
        (!self.clear() && !id.is_null()).then_some(id)
    }

    /// A method of an object.
    pub fn method(self, class: jclass, name: &CStr, kind: &CStr) -> Option<jmethodID> {
        // SAFETY: class and strings are valid.
        let id =
            unsafe { (self.functions().GetMethodID)(self.0, class, name.as_ptr(), kind.as_ptr()) };
        (!self.clear() && !id.is_null()).then_some(id)
    }

    /// A static method.
    pub fn static_method(self, class: jclass, name: &CStr, kind: &CStr) -> Option<jmethodID> {
        // SAFETY: class and strings are valid.
        let id = unsafe {
            (self.functions().GetStaticMethodID)(self.0, class, name.as_ptr(), kind.as_ptr())
        };
        (!self.clear() && !id.is_null()).then_some(id)
    }

    /// Reads an `int` field.
    pub fn get_int(self, object: jobject, field: jfieldID) -> i32 {
        // SAFETY: the field is an `int` of the object's class.
        unsafe { (self.functions().GetIntField)(self.0, object, field) }
    }

    /// Writes an `int` field.
    pub fn set_int(self, object: jobject, field: jfieldID, value: i32) {
        // SAFETY: the field is an `int` of the object's class.
        unsafe { (self.functions().SetIntField)(self.0, object, field, value) }
    }

    /// Reads a `long` field.
    pub fn get_long(self, object: jobject, field: jfieldID) -> u64 {
        // SAFETY: the field is a `long` of the object's class.
        unsafe { (self.functions().GetLongField)(self.0, object, field) as u64 }
    }

    /// Writes a `long` field.
    pub fn set_long(self, object: jobject, field: jfieldID, value: u64) {
        // SAFETY: the field is a `long` of the object's class.
        unsafe { (self.functions().SetLongField)(self.0, object, field, value as jlong) }
    }

    /// Reads a field that has an object.
    pub fn get_object(self, object: jobject, field: jfieldID) -> Option<jobject> {
        // SAFETY: the field is one of the object's class, and no primitive.
        self.result(unsafe { (self.functions().GetObjectField)(self.0, object, field) })
    }

    /// A field as reflection has it.
    pub fn reflected(self, class: jclass, field: jfieldID, is_static: bool) -> Option<jobject> {
        // SAFETY: the field is one of the class.
        let field = unsafe {
            (self.functions().ToReflectedField)(self.0, class, field, jboolean::from(is_static))
        };
        self.result(field)
    }

    /// The field that reflection has an object for.
    pub fn reflected_field(self, field: jobject) -> Option<jfieldID> {
        // SAFETY: the object is a `java.lang.reflect.Field`.
        let id = unsafe { (self.functions().FromReflectedField)(self.0, field) };
        (!self.clear() && !id.is_null()).then_some(id)
    }

    /// Calls a method that takes an object and returns nothing.
    pub fn call_void(self, object: jobject, method: jmethodID, argument: jobject) {
        let arguments = [jvalue { l: argument }];
        // SAFETY: the method takes one object.
        unsafe { (self.functions().CallVoidMethodA)(self.0, object, method, arguments.as_ptr()) };
        self.clear();
    }

    /// Calls a method that returns an object.
    pub fn call_object(self, object: jobject, method: jmethodID) -> Option<jobject> {
        // SAFETY: the method takes no arguments.
        let result = unsafe {
            (self.functions().CallObjectMethodA)(self.0, object, method, std::ptr::null())
        };
        self.result(result)
    }

    /// Calls a method that returns an `int`.
    pub fn call_int(self, object: jobject, method: jmethodID) -> i32 {
        // SAFETY: the method takes no arguments.
        let result =
            unsafe { (self.functions().CallIntMethodA)(self.0, object, method, std::ptr::null()) };
        if self.clear() { 0 } else { result }
    }

    /// Calls a method that returns a `boolean`.
    pub fn call_boolean(self, object: jobject, method: jmethodID) -> bool {
        // SAFETY: the method takes no arguments.
        let result = unsafe {
            (self.functions().CallBooleanMethodA)(self.0, object, method, std::ptr::null())
        };
        !self.clear() && result != 0
    }

    /// Calls a method that takes objects and returns a `long`.
    pub fn call_long(
        self,
        object: jobject,
        method: jmethodID,
        arguments: &[jobject],
    ) -> Option<u64> {
        let arguments: Vec<jvalue> = arguments.iter().map(|&l| jvalue { l }).collect();
        // SAFETY: the arguments are as the method declares them.
        let result = unsafe {
            (self.functions().CallLongMethodA)(self.0, object, method, arguments.as_ptr())
        };
        (!self.clear()).then_some(result as u64)
    }

    /// Calls a static method that takes objects and returns a `long`.
    pub fn call_static_long(self, class: jclass, method: jmethodID, argument: jobject) -> u64 {
        let arguments = [jvalue { l: argument }];
        // SAFETY: the method takes one object.
        let result = unsafe {
            (self.functions().CallStaticLongMethodA)(self.0, class, method, arguments.as_ptr())
        };
        if self.clear() { 0 } else { result as u64 }
    }

    /// Calls a static method that returns an object.
    pub fn call_static_object(
        self,
        class: jclass,
        method: jmethodID,
        arguments: &[jvalue],
    ) -> Option<jobject> {
        // SAFETY: the arguments are as the method declares them.
        let result = unsafe {
            (self.functions().CallStaticObjectMethodA)(self.0, class, method, arguments.as_ptr())
        };
        self.result(result)
    }

    /// Whether an object is of a class.
    pub fn is_instance(self, object: jobject, class: jclass) -> bool {
        // SAFETY: both references are valid.
        unsafe { (self.functions().IsInstanceOf)(self.0, object, class) != 0 as jboolean }
    }

    /// The class of an object.
    pub fn class_of(self, object: jobject) -> jclass {
        // SAFETY: the reference is valid and not null.
        unsafe { (self.functions().GetObjectClass)(self.0, object) }
    }

    /// The super class, if there is one.
    pub fn super_class(self, class: jclass) -> Option<jclass> {
        // SAFETY: the reference is a class.
        let class = unsafe { (self.functions().GetSuperclass)(self.0, class) };
        (!class.is_null()).then_some(class)
    }

    /// The characters of a string.
    pub fn characters(self, string: jobject) -> Vec<u16> {
        // SAFETY: the reference is a string; the region is all of it, and there is room for it.
        unsafe {
            let len = (self.functions().GetStringLength)(self.0, string);
            let mut characters = vec![0u16; len.max(0) as usize];
            (self.functions().GetStringRegion)(self.0, string, 0, len, characters.as_mut_ptr());
            self.clear();
            characters
        }
    }

    /// A string as bytes.
    pub fn text(self, string: jobject) -> Vec<u8> {
        String::from_utf16_lossy(&self.characters(string)).into_bytes()
    }

    /// A new string.
    pub fn string(self, text: &[u8]) -> Option<jobject> {
        let text = CString::new(text).ok()?;
        // SAFETY: the text ends with 0.
        let string = unsafe { (self.functions().NewStringUTF)(self.0, text.as_ptr()) };
        self.result(string)
    }

    /// Defines a class in the boot loader.
    pub fn define(self, name: &[u8], bytes: &[u8]) -> Option<jclass> {
        let name = CString::new(name).ok()?;
        // SAFETY: name and bytes are valid for the call; the loader is the boot loader.
        let class = unsafe {
            let data = bytes.as_ptr().cast();
            let len = bytes.len() as jint;
            (self.functions().DefineClass)(self.0, name.as_ptr(), null_mut(), data, len)
        };
        self.result(class)
    }
}

/// The JVMTI environment of the agent; it may be used by all threads.
#[derive(Clone, Copy)]
pub struct Jvmti(*mut jvmtiEnv);

// SAFETY: JVMTI environments may be used by any thread.
unsafe impl Send for Jvmti {}
// SAFETY: as above.
unsafe impl Sync for Jvmti {}

impl Jvmti {
    /// Wraps the environment that `GetEnv` gave.
    ///
    /// # Safety
    /// It must be a valid JVMTI environment that is never disposed of.
    pub unsafe fn new(env: *mut jvmtiEnv) -> Jvmti {
        Jvmti(env)
    }

    /// The environment itself.
    pub fn raw(self) -> *mut jvmtiEnv {
        self.0
    }

    /// Its functions.
    pub fn functions(&self) -> &jvmtiInterface_1_ {
        // SAFETY: an environment starts with the pointer to its functions.
        unsafe { &**self.0.cast::<*const jvmtiInterface_1_>() }
    }

    /// The descriptor of a class.
    pub fn signature(self, class: jclass) -> Vec<u8> {
        let Some(get) = self.functions().GetClassSignature else { return Vec::new() };
        let mut text: *mut c_char = null_mut();
        // SAFETY: the class is valid; the generic signature is not asked for.
        let error = unsafe { get(self.0, class, &mut text, null_mut()) };
        self.take_text(error, text)
    }

    fn take_text(self, error: jvmtiError, text: *mut c_char) -> Vec<u8> {
        if error != jvmtiError::NONE || text.is_null() {
            return Vec::new();
        }
        // SAFETY: JVMTI gave a string that ends with 0, to be given back.
        unsafe {
            let copy = CStr::from_ptr(text).to_bytes().to_vec();
            if let Some(deallocate) = self.functions().Deallocate {
                deallocate(self.0, text.cast());
            }
            copy
        }
    }

    /// The classes of the methods on the stack of the current thread, innermost first.
    pub fn callers(self, depth: usize) -> Vec<jclass> {
        let (Some(trace), Some(declaring)) =
            (self.functions().GetStackTrace, self.functions().GetMethodDeclaringClass)
        else {
            return Vec::new();
        };
        // SAFETY: all zero is a valid frame.
        let mut frames: Vec<jvmtiFrameInfo> =
            (0..depth).map(|_| unsafe { std::mem::zeroed() }).collect();
        let mut count = 0;
        // SAFETY: null is the current thread; there is room for `depth` frames.
        let error =
            unsafe { trace(self.0, null_mut(), 0, depth as jint, frames.as_mut_ptr(), &mut count) };
        if error != jvmtiError::NONE {
            return Vec::new();
        }
        frames.truncate(count.max(0) as usize);
        let class_of = |frame: &jvmtiFrameInfo| {
            let mut class = null_mut();
            // SAFETY: the method is on the stack, hence valid.
            let error = unsafe { declaring(self.0, frame.method, &mut class) };
            (error == jvmtiError::NONE && !class.is_null()).then_some(class)
        };
        frames.iter().filter_map(class_of).collect()
    }

    /// The fields that a class declares.
    pub fn fields(self, class: jclass) -> Vec<jfieldID> {
        let Some(get) = self.functions().GetClassFields else { return Vec::new() };
        let (mut count, mut fields) = (0, null_mut());
        // SAFETY: the class is valid; JVMTI gives an array of that many, to be given back.
        unsafe {
            if get(self.0, class, &mut count, &mut fields) != jvmtiError::NONE || fields.is_null() {
                return Vec::new();
            }
            let copy = std::slice::from_raw_parts(fields, count.max(0) as usize).to_vec();
            if let Some(deallocate) = self.functions().Deallocate {
                deallocate(self.0, fields.cast());
            }
            copy
        }
    }

    /// Name and flags of a field.
    pub fn field(self, class: jclass, field: jfieldID) -> Option<(Vec<u8>, u16)> {
        let name = self.functions().GetFieldName?;
        let flags = self.functions().GetFieldModifiers?;
        let (mut text, mut bits) = (null_mut(), 0);
        // SAFETY: the field is one of the class; its type is not asked for.
        let errors = unsafe {
            let first = name(self.0, class, field, &mut text, null_mut(), null_mut());
            (first, flags(self.0, class, field, &mut bits))
        };
        let text = self.take_text(errors.0, text);
        (!text.is_empty() && errors.1 == jvmtiError::NONE).then_some((text, bits as u16))
    }

    /// The loader of a class; null for the boot loader.
    pub fn loader(self, class: jclass) -> jobject {
        let mut loader = null_mut();
        if let Some(get) = self.functions().GetClassLoader {
            // SAFETY: the class is valid.
            unsafe { get(self.0, class, &mut loader) };
        }
        loader
    }
}
