//! The names, fields and call sites that one class mentions, numbered within the class.

use hashbrown::{HashMap, HashSet};
use noak::error::DecodeError;
use noak::reader::Class;
use noak::reader::attributes::{BootstrapMethod, BootstrapMethods};
use noak::reader::cpool::{self, ConstantPool, MethodKind};
use paceline_trace::Interner;

use crate::body::{CallKind, FieldKey, SiteId, SiteKey};
use crate::bytecode::{Insn, parameters, type_of};
use crate::expr::{FieldId, Name};

/// What a field access needs to know: the field, its class when it is a reference, its slots.
type FieldUse = (FieldId, Option<Name>, u8);

/// The numbering of one class.
pub struct Tables<'a> {
    /// The constant pool behind it.
    pub pool: &'a ConstantPool<'a>,
    /// All names.
    pub names: Interner,
    /// All call sites.
    pub sites: Vec<SiteKey>,
    /// All fields.
    pub fields: Vec<FieldKey>,
    site_index: HashMap<SiteKey, SiteId>,
    /// By constant pool index: an instruction is decoded without looking at names.
    known_sites: HashMap<(CallKind, u16), SiteId>,
    known_fields: HashMap<u16, FieldUse>,
    field_index: HashMap<FieldKey, FieldId>,
    /// The class itself, if it extends one of the JDK's locks.
    pub lock_class: Option<Name>,
    /// Fields that the class declares.
    pub own: HashSet<FieldId>,
    /// Those that are volatile.
    pub volatile: HashSet<FieldId>,
    /// Those that are final.
    pub finals: HashSet<FieldId>,
    /// The method handles that make lambdas, by bootstrap method.
    lambdas: Vec<Option<cpool::Index<cpool::MethodHandle<'a>>>>,
}

impl<'a> Tables<'a> {
    /// Empty tables for a class.
    pub fn new(class: &'a Class<'a>) -> Result<Tables<'a>, DecodeError> {
        let pool = class.pool();
        let bootstrap = class.attributes().find_attribute::<BootstrapMethods<'a>>(pool)?;
        let methods = bootstrap.iter().flat_map(|b| b.methods());
        let lambdas: Result<_, _> = methods.map(|m| lambda_handle(&m?, pool)).collect();
        Ok(Tables {
            pool,
            names: Interner::default(),
            sites: Vec::new(),
            fields: Vec::new(),
            site_index: HashMap::new(),
            known_sites: HashMap::new(),
            known_fields: HashMap::new(),
            field_index: HashMap::new(),
            lock_class: None,
            own: HashSet::new(),
            volatile: HashSet::new(),
            finals: HashSet::new(),
            lambdas: lambdas?,
        })
    }

    /// The number of a name.
    pub fn name(&mut self, name: &[u8]) -> Name {
        Name(self.names.intern(name))
    }

    /// The number of a text in the pool.
    pub fn text(&mut self, index: cpool::Index<cpool::Utf8<'a>>) -> Result<Name, DecodeError> {
        let text = self.pool.retrieve(index)?;
        Ok(self.name(text.as_bytes()))
    }

    /// The name of a class in the pool.
    pub fn class(&mut self, index: cpool::Index<cpool::Class<'_>>) -> Result<Name, DecodeError> {
        let class = self.pool.retrieve(cpool::Index::<cpool::Class<'a>>::new(index.as_u16())?)?;
        Ok(self.name(class.name.as_bytes()))
    }

    /// A field in the pool.
    pub fn field(
        &mut self,
        index: cpool::Index<cpool::FieldRef<'_>>,
    ) -> Result<FieldUse, DecodeError> {
        if let Some(&known) = self.known_fields.get(&index.as_u16()) {
            return Ok(known);
        }
        let field =
            self.pool.retrieve(cpool::Index::<cpool::FieldRef<'a>>::new(index.as_u16())?)?;
        let key = FieldKey {
            class: self.name(field.class.name.as_bytes()),
            name: self.name(field.name_and_type.name.as_bytes()),
        };
        let (slots, class) = type_of(field.name_and_type.descriptor.as_bytes());
        let class = class.map(|c| self.name(c));
        let made = (self.field_id(key), class, slots);
        self.known_fields.insert(index.as_u16(), made);
        Ok(made)
    }

    /// The number of a field.
    pub fn field_id(&mut self, key: FieldKey) -> FieldId {
        let next = FieldId(self.fields.len() as u32);
        let id = *self.field_index.entry(key).or_insert(next);
        if id == next {
            self.fields.push(key);
        }
        id
    }

    /// A method in the pool.
    pub fn method(
        &mut self,
        kind: CallKind,
        index: cpool::Index<cpool::Item<'_>>,
    ) -> Result<SiteId, DecodeError> {
        let at = index.as_u16();
        if let Some(&known) = self.known_sites.get(&(kind, at)) {
            return Ok(known);
        }
        let of_interface = cpool::Index::<cpool::InterfaceMethodRef<'a>>::new(at)?;
        let (class, method) = match self.pool.get(of_interface) {
            Ok(m) => (m.class, m.name_and_type),
            // Anything that is no method is refused by the pool.
            Err(_) => {
                let m = self.pool.get(cpool::Index::<cpool::MethodRef<'a>>::new(at)?)?;
                (m.class, m.name_and_type)
            }
        };
        let method = self.pool.retrieve(method)?;
        let key = SiteKey {
            kind,
            exact: false,
            class: self.class(class)?,
            name: self.name(method.name.as_bytes()),
            desc: self.name(method.descriptor.as_bytes()),
        };
        let id = self.site(key);
        self.known_sites.insert((kind, at), id);
        Ok(id)
    }

    /// The number of a call site.
    pub fn site(&mut self, key: SiteKey) -> SiteId {
        let next = SiteId(self.sites.len() as u32);
        let id = *self.site_index.entry(key).or_insert(next);
        if id == next {
            self.sites.push(key);
        }
        id
    }

    /// An `invokedynamic`: a lambda, or a computation like string concatenation.
    pub fn dynamic(
        &mut self,
        index: cpool::Index<cpool::InvokeDynamic<'_>>,
    ) -> Result<Insn, DecodeError> {
        let at = cpool::Index::<cpool::InvokeDynamic<'a>>::new(index.as_u16())?;
        let dynamic = self.pool.retrieve(at)?;
        let (types, result) = parameters(dynamic.name_and_type.descriptor.as_bytes());
        let pops: u8 = types.iter().map(|t| type_of(t).0).sum();
        let (pushes, interface) = type_of(result);
        let handle = self.lambdas.get(usize::from(dynamic.bootstrap_method_attr)).copied();
        let site = match handle.flatten() {
            Some(handle) => self.behind(handle)?,
            None => None,
        };
        Ok(match (site, interface) {
            (Some(site), Some(interface)) => Insn::Lambda {
                site,
                interface: self.name(interface),
                method: self.name(dynamic.name_and_type.name.as_bytes()),
                captured: types.iter().map(|t| type_of(t).0).collect(),
            },
            _ => Insn::Compute(pops, pushes),
        })
    }

    /// The method behind a lambda. A reference to a constructor calls nothing on its receiver.
    fn behind(
        &mut self,
        handle: cpool::Index<cpool::MethodHandle<'a>>,
    ) -> Result<Option<SiteId>, DecodeError> {
        let handle = self.pool.get(handle)?;
        let kind = match handle.kind {
            MethodKind::InvokeVirtual => CallKind::Virtual,
            MethodKind::InvokeInterface => CallKind::Interface,
            MethodKind::InvokeSpecial => CallKind::Special,
            MethodKind::InvokeStatic => CallKind::Static,
            MethodKind::NewInvokeSpecial
            | MethodKind::GetField
            | MethodKind::GetStatic
            | MethodKind::PutField
            | MethodKind::PutStatic => return Ok(None),
        };
        self.method(kind, handle.reference).map(Some)
    }
}

/// The second argument of LambdaMetafactory's methods is the handle of the lambda's method.
fn lambda_handle<'a>(
    method: &BootstrapMethod<'a>,
    pool: &ConstantPool<'a>,
) -> Result<Option<cpool::Index<cpool::MethodHandle<'a>>>, DecodeError> {
    let bootstrap = pool.get(method.method_ref())?;
    let reference = cpool::Index::<cpool::MethodRef<'a>>::new(bootstrap.reference.as_u16())?;
    let Ok(target) = pool.retrieve(reference) else { return Ok(None) };
    if target.class.name.as_bytes() != b"java/lang/invoke/LambdaMetafactory" {
        return Ok(None);
    }
    match method.arguments().into_iter().nth(1) {
        Some(argument) => cpool::Index::new(argument?.as_u16()).map(Some),
        None => Ok(None),
    }
}
