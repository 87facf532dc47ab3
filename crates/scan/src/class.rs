//! Reads a class file into what is kept of it.

use noak::AccessFlags;
use noak::error::DecodeError;
use noak::reader::attributes::annotations::Annotation;
use noak::reader::attributes::{
    Code, RuntimeInvisibleAnnotations, RuntimeVisibleAnnotations, SourceFile,
};
use noak::reader::{Attribute, Class, DecodeMany, Field, Method, cpool};
use paceline_trace::Interner;

use crate::body::{FieldKey, SiteKey};
use crate::bytecode::{decode, parameters, type_of};
use crate::cfg::{BadTarget, Cfg, Handler};
use crate::expr::{FieldId, Name, Root};
use crate::flow::{Flow, Head, Stored, Variable, analyse};
use crate::machine::{Env, Shapes};
use crate::program::{ClassId, Method as ReadMethod};
use crate::smap::SourceMap;
use crate::tables::Tables;
use crate::values::{LOCKS, Value};

/// Why a class file cannot be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BadClass {
    /// The file does not have the structure of a class file.
    #[error("not a valid class file: {0}")]
    Structure(DecodeError),
    /// A method jumps to where no instruction is.
    #[error("method {0} jumps to position {1}, where no instruction starts")]
    Jump(String, u32),
}

impl From<DecodeError> for BadClass {
    fn from(error: DecodeError) -> BadClass {
        BadClass::Structure(error)
    }
}

/// A class as it was read: names, fields and sites have the numbers of the class.
pub struct Parsed {
    /// Its names.
    pub names: Interner,
    /// The call sites that it mentions.
    pub sites: Vec<SiteKey>,
    /// The fields that it mentions.
    pub fields: Vec<FieldKey>,
    /// Its own name.
    pub name: Name,
    /// Its superclass.
    pub parent: Option<Name>,
    /// The interfaces that it implements or extends.
    pub interfaces: Vec<Name>,
    /// Whether it is an interface.
    pub interface: bool,
    /// Whether it is abstract.
    pub is_abstract: bool,
    /// Whether objects of it may be made by code that was not read.
    pub public: bool,
    /// Its source file.
    pub source: Option<Name>,
    /// Its methods.
    pub methods: Vec<ReadMethod>,
    /// The fields that it declares, with the annotations that matter.
    pub declared: Vec<Declared>,
    /// Annotations of the class.
    pub annotations: Vec<Name>,
    /// The stores to fields in all of its methods.
    pub stores: Vec<(FieldId, Stored)>,
    /// The classes that it makes objects of.
    pub made: Vec<Name>,
}

/// A field that a class declares.
pub struct Declared {
    /// Which.
    pub field: FieldId,
    /// Its annotations.
    pub annotations: Vec<Name>,
    /// Whether it is volatile.
    pub is_volatile: bool,
    /// Whether it is private.
    pub is_private: bool,
}

/// Reads a class file. Module descriptions are no classes: they give `None`.
pub fn parse(bytes: &[u8]) -> Result<Option<Parsed>, BadClass> {
    let class = Class::new(bytes)?;
    let flags = class.access_flags();
    if flags.contains(AccessFlags::MODULE) {
        return Ok(None);
    }
    let mut reader = Reader {
        class: &class,
        tables: Tables::new(&class)?,
        shapes: Shapes::default(),
        map: None,
    };
    reader.read(flags).map(Some)
}

struct Reader<'a> {
    class: &'a Class<'a>,
    tables: Tables<'a>,
    shapes: Shapes,
    /// Where lines of inlined code come from.
    map: Option<SourceMap>,
}

impl<'a> Reader<'a> {
    fn read(&mut self, flags: AccessFlags) -> Result<Parsed, BadClass> {
        let name = self.tables.class(self.class.this_class())?;
        let parent = self.class.super_class().map(|c| self.tables.class(c)).transpose()?;
        let interfaces: Result<Vec<_>, _> =
            self.class.interfaces().into_iter().map(|c| self.tables.class(c?)).collect();
        let attributes = self.class.attributes();
        let source = attributes.find_attribute::<SourceFile<'a>>(self.tables.pool)?;
        let source = source.map(|s| self.tables.text(s.source_file())).transpose()?;
        let annotations = self.annotations(&attributes)?;
        self.map = self.source_map(&attributes)?;
        let extends_lock = |p: Name| self.tables.names.name(p.0).starts_with(LOCKS);
        self.tables.lock_class = parent.filter(|&p| extends_lock(p)).map(|_| name);
        let declared = self.declared(name)?;
        let mut parsed = Parsed {
            names: Interner::default(),
            sites: Vec::new(),
            fields: Vec::new(),
            name,
            parent,
            interfaces: interfaces?,
            interface: flags.contains(AccessFlags::INTERFACE),
            is_abstract: flags.contains(AccessFlags::ABSTRACT),
            public: flags.contains(AccessFlags::PUBLIC),
            source,
            methods: Vec::new(),
            declared,
            annotations,
            stores: Vec::new(),
            made: Vec::new(),
        };
        for method in self.class.methods() {
            let method = self.method(&method?, &mut parsed)?;
            parsed.methods.push(method);
        }
        parsed.made.sort_unstable();
        parsed.made.dedup();
        parsed.names = std::mem::take(&mut self.tables.names);
        parsed.sites = std::mem::take(&mut self.tables.sites);
        parsed.fields = std::mem::take(&mut self.tables.fields);
        Ok(parsed)
    }

    fn source_map(
        &self,
        attributes: &DecodeMany<'a, Attribute<'a>, u16>,
    ) -> Result<Option<SourceMap>, BadClass> {
        for attribute in attributes.clone() {
            let attribute = attribute?;
            if self.tables.pool.retrieve(attribute.name())?.as_bytes() == b"SourceDebugExtension" {
                return Ok(SourceMap::parse(attribute.content()));
            }
        }
        Ok(None)
    }

    fn declared(&mut self, class: Name) -> Result<Vec<Declared>, BadClass> {
        let mut declared = Vec::new();
        for field in self.class.fields() {
            let field: Field<'a> = field?;
            let name = self.tables.text(field.name())?;
            let id = self.tables.field_id(FieldKey { class, name });
            let flags = field.access_flags();
            let is_volatile = flags.contains(AccessFlags::VOLATILE);
            self.tables.own.insert(id);
            self.tables.volatile.extend(is_volatile.then_some(id));
            self.tables.finals.extend(flags.contains(AccessFlags::FINAL).then_some(id));
            let annotations = self.annotations(&field.attributes())?;
            let is_private = flags.contains(AccessFlags::PRIVATE);
            declared.push(Declared { field: id, annotations, is_volatile, is_private });
        }
        Ok(declared)
    }

    /// The names of the annotations that are kept in class files.
    fn annotations(
        &mut self,
        attributes: &DecodeMany<'a, Attribute<'a>, u16>,
    ) -> Result<Vec<Name>, BadClass> {
        let mut names = Vec::new();
        let visible =
            attributes.find_attribute::<RuntimeVisibleAnnotations<'a>>(self.tables.pool)?;
        for annotation in visible.iter().flat_map(|a| a.annotations()) {
            names.push(self.annotation(&annotation?)?);
        }
        let invisible =
            attributes.find_attribute::<RuntimeInvisibleAnnotations<'a>>(self.tables.pool)?;
        for annotation in invisible.iter().flat_map(|a| a.annotations()) {
            names.push(self.annotation(&annotation?)?);
        }
        Ok(names)
    }

    fn annotation(&mut self, annotation: &Annotation<'a>) -> Result<Name, BadClass> {
        let text = self.tables.pool.retrieve(annotation.type_())?;
        let class = type_of(text.as_bytes()).1.unwrap_or_default();
        Ok(self.tables.name(class))
    }

    fn method(&mut self, method: &Method<'a>, parsed: &mut Parsed) -> Result<ReadMethod, BadClass> {
        let flags = method.access_flags();
        let name = self.tables.text(method.name())?;
        let desc = self.tables.text(method.descriptor())?;
        let is_static = flags.contains(AccessFlags::STATIC);
        let code = method.attributes().find_attribute::<Code<'a>>(self.tables.pool)?;
        let (flow, line) = match &code {
            Some(code) => self.code(code, method, parsed.name, is_static)?,
            None => (Flow::default(), 0),
        };
        parsed.stores.extend(flow.stores);
        parsed.made.extend(flow.made);
        Ok(ReadMethod {
            // Of the program that takes it.
            class: ClassId(0),
            name,
            desc,
            is_static,
            synchronized: flags.contains(AccessFlags::SYNCHRONIZED),
            is_abstract: flags.contains(AccessFlags::ABSTRACT),
            is_private: flags.contains(AccessFlags::PRIVATE),
            is_public: flags.contains(AccessFlags::PUBLIC)
                || flags.contains(AccessFlags::PROTECTED),
            line,
            body: flow.body,
            returns: flow.returns,
            returns_class: flow.returns_class,
            sets: flow.sets.into(),
            stored: flow.stored,
            captures: flow.captures.into(),
            fills: flow.fills.into(),
            annotations: self.annotations(&method.attributes())?.into(),
        })
    }

    fn code(
        &mut self,
        code: &Code<'a>,
        method: &Method<'a>,
        class: Name,
        is_static: bool,
    ) -> Result<(Flow, u16), BadClass> {
        let pool = self.tables.pool;
        let name = pool.retrieve(method.name())?;
        let desc = pool.retrieve(method.descriptor())?.as_bytes();
        let mut insns = Vec::new();
        for insn in code.raw_instructions() {
            let (index, raw) = insn?;
            insns.push((index.as_u32(), decode(&raw, index.as_u32(), &mut self.tables)?));
        }
        if insns.is_empty() {
            return Ok((Flow::default(), 0));
        }
        let handlers: Vec<Handler> = code.exception_handlers().map(|h| handler(&h)).collect();
        let bad = |t: BadTarget| BadClass::Jump(name.display().to_string(), t.0);
        let cfg = Cfg::new(insns, &handlers).map_err(bad)?;
        let mut lines = lines(code, pool)?;
        if let Some(map) = &self.map {
            lines.iter_mut().for_each(|l| l.1 = map.line(l.1));
        }
        let variables = self.variables(code)?;
        let start = self.start(code.max_locals(), desc, class, is_static);
        let head = Head {
            lines: &lines,
            variables: &variables,
            constructor: name.as_bytes() == b"<init>",
            synchronized: method.access_flags().contains(AccessFlags::SYNCHRONIZED),
        };
        let flow = analyse(&cfg, &head, start, &mut self.tables, &mut self.shapes);
        Ok((flow, lines.first().map_or(0, |l| l.1)))
    }

    /// The names of local variables, if the compiler kept them.
    fn variables(&mut self, code: &Code<'a>) -> Result<Vec<Variable>, BadClass> {
        let mut variables = Vec::new();
        for attribute in code.attributes() {
            let attribute = attribute?;
            if self.tables.pool.retrieve(attribute.name())?.as_bytes() != b"LocalVariableTable" {
                continue;
            }
            for [start, length, name, _, slot] in variable_table(attribute.content()) {
                let (start, end) = (u32::from(start), u32::from(start) + u32::from(length));
                let name = self.tables.text(cpool::Index::new(name)?)?;
                variables.push(Variable { slot, start, end, name });
            }
        }
        Ok(variables)
    }

    /// The state at the start of a method: its parameters in their slots.
    fn start(&mut self, locals: u16, desc: &[u8], class: Name, is_static: bool) -> Env {
        let mut values = Vec::new();
        if !is_static {
            values.push(Value::of(Root::Param(0)).typed(Some(class)));
        }
        let first = values.len() as u32;
        for (number, kind) in parameters(desc).0.into_iter().enumerate() {
            let (slots, class) = type_of(kind);
            let class = class.map(|c| self.tables.name(c));
            values.push(Value::of(Root::Param(first + number as u32)).typed(class));
            values.extend((1..slots).map(|_| Value::UNKNOWN));
        }
        values.resize(usize::from(locals).max(values.len()), Value::UNKNOWN);
        Env { locals: values, stack: Vec::new() }
    }
}

fn handler(handler: &noak::reader::attributes::ExceptionHandler<'_>) -> Handler {
    Handler {
        start: handler.start().as_u32(),
        end: handler.end().as_u32(),
        target: handler.handler().as_u32(),
        any: handler.catch_type().is_none(),
    }
}

/// The start of each source line in the code; a method may have several tables. Read by hand:
/// noak 0.7 takes the two-byte positions of this table for four-byte ones.
fn lines<'a>(code: &Code<'a>, pool: &cpool::ConstantPool<'a>) -> Result<Vec<(u32, u16)>, BadClass> {
    let mut lines = Vec::new();
    for attribute in code.attributes() {
        let attribute = attribute?;
        if pool.retrieve(attribute.name())?.as_bytes() == b"LineNumberTable" {
            lines.extend(line_table(attribute.content()));
        }
    }
    lines.sort_unstable();
    Ok(lines)
}

/// A count, then a position and a line for each entry, all of two bytes.
fn line_table(content: &[u8]) -> impl Iterator<Item = (u32, u16)> + '_ {
    let entries = content.get(2..).unwrap_or_default().chunks_exact(4);
    entries.map(|e| (u32::from(u16::from_be_bytes([e[0], e[1]])), u16::from_be_bytes([e[2], e[3]])))
}

/// A count, then start, length, name, descriptor and slot of each variable, all of two bytes.
fn variable_table(content: &[u8]) -> impl Iterator<Item = [u16; 5]> + '_ {
    let entries = content.get(2..).unwrap_or_default().chunks_exact(10);
    entries.map(|e| std::array::from_fn(|i| u16::from_be_bytes([e[2 * i], e[2 * i + 1]])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_tables_have_two_byte_positions() {
        let table = [0, 2, 0, 0, 0, 7, 1, 0, 0, 9, 99];
        assert_eq!(line_table(&table).collect::<Vec<_>>(), [(0, 7), (256, 9)]);
        assert_eq!(line_table(&[]).count(), 0);
    }

    #[test]
    fn rubbish_is_refused() {
        assert!(matches!(parse(b"rubbish"), Err(BadClass::Structure(_))));
        assert!(matches!(parse(&[0xca, 0xfe, 0xba, 0xbe, 0, 0]), Err(BadClass::Structure(_))));
    }
}
