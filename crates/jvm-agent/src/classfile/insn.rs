//! Instructions: their lengths, and where they jump to.

use super::{Failure, Outcome, u2_at, u4_at};

/// Opcodes that something here looks at or makes.
#[allow(missing_docs)]
pub mod op {
    pub const NOP: u8 = 0;
    pub const ACONST_NULL: u8 = 1;
    pub const BIPUSH: u8 = 0x10;
    pub const SIPUSH: u8 = 0x11;
    pub const LDC_W: u8 = 0x13;
    pub const ALOAD: u8 = 0x19;
    pub const ALOAD_0: u8 = 0x2a;
    pub const ALOAD_3: u8 = 0x2d;
    pub const IALOAD: u8 = 0x2e;
    pub const LALOAD: u8 = 0x2f;
    pub const DALOAD: u8 = 0x31;
    pub const SALOAD: u8 = 0x35;
    pub const ASTORE: u8 = 0x3a;
    pub const ASTORE_0: u8 = 0x4b;
    pub const IASTORE: u8 = 0x4f;
    pub const LASTORE: u8 = 0x50;
    pub const DASTORE: u8 = 0x52;
    pub const SASTORE: u8 = 0x56;
    pub const POP: u8 = 0x57;
    pub const POP2: u8 = 0x58;
    pub const DUP: u8 = 0x59;
    pub const DUP_X1: u8 = 0x5a;
    pub const DUP_X2: u8 = 0x5b;
    pub const DUP2: u8 = 0x5c;
    pub const DUP2_X1: u8 = 0x5d;
    pub const DUP2_X2: u8 = 0x5e;
    pub const SWAP: u8 = 0x5f;
    pub const IINC: u8 = 0x84;
    pub const IFEQ: u8 = 0x99;
    pub const GOTO: u8 = 0xa7;
    pub const JSR: u8 = 0xa8;
    pub const RET: u8 = 0xa9;
    pub const TABLESWITCH: u8 = 0xaa;
    pub const LOOKUPSWITCH: u8 = 0xab;
    pub const IRETURN: u8 = 0xac;
    pub const ARETURN: u8 = 0xb0;
    pub const RETURN: u8 = 0xb1;
    pub const GETSTATIC: u8 = 0xb2;
    pub const PUTSTATIC: u8 = 0xb3;
    pub const GETFIELD: u8 = 0xb4;
    pub const PUTFIELD: u8 = 0xb5;
    pub const INVOKEVIRTUAL: u8 = 0xb6;
    pub const INVOKESPECIAL: u8 = 0xb7;
    pub const INVOKESTATIC: u8 = 0xb8;
    pub const INVOKEINTERFACE: u8 = 0xb9;
    pub const AASTORE: u8 = 0x53;
    pub const INVOKEDYNAMIC: u8 = 0xba;
    pub const NEW: u8 = 0xbb;
    pub const NEWARRAY: u8 = 0xbc;
    pub const ANEWARRAY: u8 = 0xbd;
    pub const ATHROW: u8 = 0xbf;
    pub const CHECKCAST: u8 = 0xc0;
    pub const MONITORENTER: u8 = 0xc2;
    pub const MONITOREXIT: u8 = 0xc3;
    pub const WIDE: u8 = 0xc4;
    pub const MULTIANEWARRAY: u8 = 0xc5;
    pub const IFNULL: u8 = 0xc6;
    pub const IFNONNULL: u8 = 0xc7;
    pub const GOTO_W: u8 = 0xc8;
    pub const JSR_W: u8 = 0xc9;
}

/// The length of the instruction at an offset.
pub fn length(code: &[u8], at: usize) -> Outcome<usize> {
    let opcode = *code.get(at).ok_or(Failure::Malformed("code"))?;
    let operands = (at + 4) & !3;
    Ok(match opcode {
        op::TABLESWITCH => {
            let low = i64::from(u4_at(code, operands + 4)? as i32);
            let high = i64::from(u4_at(code, operands + 8)? as i32);
            let cases =
                usize::try_from(high - low + 1).map_err(|_| Failure::Malformed("switch"))?;
            operands - at + 12 + 4 * cases
        }
        op::LOOKUPSWITCH => operands - at + 8 + 8 * u4_at(code, operands + 4)? as usize,
        op::WIDE if code.get(at + 1) == Some(&op::IINC) => 6,
        op::WIDE => 4,
        0x10 | 0x12 | 0x15..=0x19 | 0x36..=0x3a | op::RET | 0xbc => 2,
        0x11 | 0x13 | 0x14 | op::IINC | op::IFEQ..=op::JSR | op::GETSTATIC..=op::INVOKESTATIC => 3,
        op::NEW | 0xbd | op::CHECKCAST | 0xc1 | op::IFNULL | op::IFNONNULL => 3,
        0xc5 => 4,
        op::INVOKEINTERFACE | op::INVOKEDYNAMIC | op::GOTO_W | op::JSR_W => 5,
        0xca.. => return Err(Failure::Malformed("instruction")),
        _ => 1,
    })
}

/// Whether the instruction jumps by a distance of 16 bits.
pub fn is_short_jump(opcode: u8) -> bool {
    matches!(opcode, op::IFEQ..=op::JSR | op::IFNULL | op::IFNONNULL)
}

/// Where a jump of 16 or 32 bits goes.
pub fn jump_target(code: &[u8], at: usize) -> Outcome<usize> {
    let distance = if is_short_jump(code[at]) {
        i64::from(u2_at(code, at + 1)? as i16)
    } else {
        i64::from(u4_at(code, at + 1)? as i32)
    };
    target(at, distance)
}

/// The offset at a distance from an instruction.
pub fn target(at: usize, distance: i64) -> Outcome<usize> {
    usize::try_from(at as i64 + distance).map_err(|_| Failure::Malformed("jump"))
}

/// The opposite of a conditional jump.
pub fn opposite(opcode: u8) -> u8 {
    match opcode {
        op::IFNULL => op::IFNONNULL,
        op::IFNONNULL => op::IFNULL,
        // The conditions come in pairs, the first with an odd opcode.
        _ => ((opcode + 1) ^ 1) - 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_switches_depend_on_their_place_and_cases() {
        let mut table = vec![op::NOP, op::TABLESWITCH, 0, 0];
        for number in [9u32, 3, 5, 0, 0, 0] {
            table.extend_from_slice(&number.to_be_bytes());
        }
        assert_eq!(length(&table, 1), Ok(3 + 12 + 12));
        let mut lookup = vec![op::LOOKUPSWITCH, 0, 0, 0];
        for number in [9u32, 2, 0, 0, 0, 0] {
            lookup.extend_from_slice(&number.to_be_bytes());
        }
        assert_eq!(length(&lookup, 0), Ok(4 + 8 + 16));
        assert!(length(&[op::TABLESWITCH, 0], 0).is_err());
        assert!(length(&[0xca], 0).is_err());
    }

    #[test]
    fn each_condition_has_its_opposite() {
        assert_eq!(opposite(op::IFEQ), 0x9a);
        assert_eq!(opposite(0x9a), op::IFEQ);
        assert_eq!(opposite(0xa5), 0xa6);
        assert_eq!(opposite(op::IFNULL), op::IFNONNULL);
    }
}
