//! Class files, as far as a patcher must understand them: constant pool, members, code, stack maps.
//!
//! Everything here is plain bytes in, bytes out. A class keeps every byte that need not change.

pub mod code;
pub mod frames;
pub mod insn;
pub mod pool;
pub mod reader;

pub use pool::Pool;
pub use reader::{Reader, put2, put4, u2_at, u4_at};

/// Why a class or a method cannot be rewritten.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Failure {
    /// The bytes are no class file.
    #[error("not a well-formed class file: {0}")]
    Malformed(&'static str),
    /// No room for more constants.
    #[error("its constant pool is full")]
    PoolFull,
    /// The code would be longer than the 64 KB that a method may have.
    #[error("its code would become too long")]
    CodeTooLong,
    /// A conditional jump would have to go further than 32 KB.
    #[error("a jump would become too long")]
    JumpTooFar,
    /// More sites than numbers for them.
    #[error("there are too many places to observe")]
    TooManySites,
}

/// The outcome of most functions here.
pub type Outcome<T> = Result<T, Failure>;

/// Access flags that matter here.
pub mod access {
    /// `static`.
    pub const STATIC: u16 = 0x0008;
    /// `final`.
    pub const FINAL: u16 = 0x0010;
    /// `synchronized`, of a method.
    pub const SYNCHRONIZED: u16 = 0x0020;
    /// `volatile`, of a field.
    pub const VOLATILE: u16 = 0x0040;
    /// An interface.
    pub const INTERFACE: u16 = 0x0200;
    /// Made by the compiler.
    pub const SYNTHETIC: u16 = 0x1000;
}

/// A field or a method: where its parts lie in the class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Member<'a> {
    /// Access flags.
    pub access: u16,
    /// Its name.
    pub name: &'a [u8],
    /// Its type.
    pub descriptor: &'a [u8],
    /// Flags, name, descriptor as in the class.
    pub head: &'a [u8],
    /// Number of attributes and the attributes.
    attributes: &'a [u8],
}

/// An attribute of a class, a member or code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Attribute<'a> {
    /// The constant that is its name.
    pub name_index: u16,
    /// Its name.
    pub name: &'a [u8],
    /// What it says.
    pub body: &'a [u8],
}

/// A class file in its parts.
#[derive(Clone, Debug)]
pub struct ClassFile<'a> {
    /// All its bytes.
    pub bytes: &'a [u8],
    /// The version that decides about stack maps and more.
    pub major: u16,
    /// Access flags.
    pub access: u16,
    /// Its name, with slashes.
    pub name: &'a [u8],
    /// The name of its super class; empty for `java/lang/Object` and modules.
    pub super_name: &'a [u8],
    /// The interfaces that it names.
    pub interfaces: Vec<&'a [u8]>,
    /// From the access flags to the number of fields.
    pub head: &'a [u8],
    /// Its fields.
    pub fields: Vec<Member<'a>>,
    /// Its methods.
    pub methods: Vec<Member<'a>>,
    /// All fields, as bytes.
    pub field_bytes: &'a [u8],
    /// Number of class attributes and these.
    pub tail: &'a [u8],
}

impl<'a> ClassFile<'a> {
    /// Takes a class file apart, and with it the constants that more can be added to.
    pub fn parse(bytes: &'a [u8]) -> Outcome<(ClassFile<'a>, Pool<'a>)> {
        if u4_at(bytes, 0)? != 0xCAFE_BABE {
            return Err(Failure::Malformed("magic number"));
        }
        let pool = Pool::parse(bytes)?;
        let mut reader = Reader::new(bytes, pool.end());
        let head_start = reader.at();
        let access = reader.u2()?;
        let name = pool.class(reader.u2()?)?;
        let super_name = pool.class(reader.u2()?)?;
        let interfaces =
            (0..reader.u2()?).map(|_| pool.class(reader.u2()?)).collect::<Outcome<Vec<_>>>()?;
        let head = &bytes[head_start..reader.at()];
        let field_count = reader.u2()?;
        let fields_start = reader.at();
        let fields = members(&mut reader, &pool, field_count)?;
        let field_bytes = &bytes[fields_start..reader.at()];
        let method_count = reader.u2()?;
        let methods = members(&mut reader, &pool, method_count)?;
        let tail = &bytes[reader.at()..];
        let major = u2_at(bytes, 6)?;
        let class = ClassFile {
            bytes,
            major,
            access,
            name,
            super_name,
            interfaces,
            head,
            fields,
            methods,
            field_bytes,
            tail,
        };
        Ok((class, pool))
    }

    /// The attributes of the class.
    pub fn attributes(&self, pool: &Pool<'a>) -> Outcome<Vec<Attribute<'a>>> {
        attributes(self.tail, pool)
    }

    /// The source file that the class names, or nothing.
    pub fn source_file(&self, pool: &Pool<'a>) -> &'a [u8] {
        let attributes = self.attributes(pool).unwrap_or_default();
        let body = attributes.iter().find(|a| a.name == b"SourceFile").map(|a| a.body);
        body.and_then(|b| u2_at(b, 0).ok()).and_then(|i| pool.text(i).ok()).unwrap_or_default()
    }

    /// Puts a class together from changed fields and methods.
    pub fn assemble(&self, pool: &Pool<'_>, fields: &Members, methods: &Members) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.bytes.len() + methods.bytes.len() / 2);
        out.extend_from_slice(&self.bytes[..8]);
        pool.put(&mut out);
        out.extend_from_slice(self.head);
        fields.put(&mut out);
        methods.put(&mut out);
        out.extend_from_slice(self.tail);
        out
    }
}

/// Fields or methods of a class that is being written.
#[derive(Clone, Default, Debug)]
pub struct Members {
    /// How many.
    pub count: u16,
    /// One after the other.
    pub bytes: Vec<u8>,
}

impl Members {
    /// Adds a member without attributes.
    pub fn add(&mut self, access: u16, name: u16, descriptor: u16) {
        self.count += 1;
        [access, name, descriptor, 0].into_iter().for_each(|n| put2(&mut self.bytes, n));
    }

    fn put(&self, out: &mut Vec<u8>) {
        put2(out, self.count);
        out.extend_from_slice(&self.bytes);
    }
}

impl<'a> Member<'a> {
    /// The attributes of the member.
    pub fn attributes(&self, pool: &Pool<'a>) -> Outcome<Vec<Attribute<'a>>> {
        attributes(self.attributes, pool)
    }

    /// Whether one of these access flags is set.
    pub fn is(&self, flags: u16) -> bool {
        self.access & flags != 0
    }
}

fn members<'a>(reader: &mut Reader<'a>, pool: &Pool<'a>, count: u16) -> Outcome<Vec<Member<'a>>> {
    (0..count).map(|_| member(reader, pool)).collect()
}

fn member<'a>(reader: &mut Reader<'a>, pool: &Pool<'a>) -> Outcome<Member<'a>> {
    let head = reader.bytes(6)?;
    let access = u2_at(head, 0)?;
    let name = pool.text(u2_at(head, 2)?)?;
    let descriptor = pool.text(u2_at(head, 4)?)?;
    let attributes = skip_attributes(reader)?;
    Ok(Member { access, name, descriptor, head, attributes })
}

fn skip_attributes<'a>(reader: &mut Reader<'a>) -> Outcome<&'a [u8]> {
    let start = reader.clone();
    for _ in 0..reader.u2()? {
        reader.u2()?;
        let len = reader.u4()? as usize;
        reader.bytes(len)?;
    }
    Ok(start.until(reader))
}

/// The attributes in their usual layout: a number, then each with name, length and body.
pub fn attributes<'a>(bytes: &'a [u8], pool: &Pool<'a>) -> Outcome<Vec<Attribute<'a>>> {
    let mut reader = Reader::new(bytes, 0);
    (0..reader.u2()?)
        .map(|_| {
            let name_index = reader.u2()?;
            let len = reader.u4()? as usize;
            let body = reader.bytes(len)?;
            Ok(Attribute { name_index, name: pool.text(name_index)?, body })
        })
        .collect()
}
