import { Type } from "@sinclair/typebox";
import { closed, exactly, type SchemaOf } from "./schema.ts";

/** A value of JSON that is neither a list nor an object. */
export type Scalar = string | number | boolean | null;

/** Test of a value in a line; all keys that are given must hold. */
export interface ValueTest {
  /** None of these. A path that leads nowhere holds, and `"*"` asks for just that. */
  not?: Scalar | Scalar[];
  /** A text that contains one of these: case does not count, and `*` stands for anything. */
  contains?: string | string[];
  /** A number of at least this. */
  from?: number;
  /** A number of at most this. */
  to?: number;
}

/** Condition of a rule for a value: this one, one of a list, or a test; `"*"` is any value. */
export type Condition = Scalar | Scalar[] | ValueTest;

/** Path in a line (`a.b.0.c`, `a.b.*.c`) → what the value there must be. All of them must hold. */
export type Conditions = Record<string, Condition>;

/**
 * One rule from a line of JSON to an event: if its conditions hold, the event is built from `event`. Every rule with
 * `when` is tried, in the order of the rules.
 */
export interface MappingRule {
  /**
   * In a path, `*` stands for each entry of a list (`a.*.b`), also of lists in lists (`a.*.b.*.c`): the rule gives an
   * event for every entry for which its conditions hold.
   */
  when?: Conditions;
  /** Conditions, instead of `when`: the rule is tried only if the rules directly before it, from the last `when` on, gave nothing. */
  else?: Conditions;
  /**
   * Event fields; `type` is literal. A string that begins with `$.` is a path in the line; one that begins with `$$` is
   * literal from the second `$` on; any other value is literal, including lists and objects. An optional field is left
   * out when its path leads nowhere. Words may follow a path: `$.a | json` reads a text that holds JSON, `$.a | nonzero`
   * takes 0 as unknown, and `$.a | not` turns true and false around. `$.a + $.b` is a sum.
   */
  event?: Record<string, unknown>;
  /** Instead of `event`: the line, or the entry, is known and gives no event. */
  ignore?: true;
  /** Path, such as `$.id`: of several events of this rule with one value there, only the first is given. */
  once?: string;
  /** For `output`: each event is a whole message, not a part of one. */
  whole?: true;
  /** For `usage`: the figures count earlier sessions too, so one that goes on from another leaves them out. */
  cumulative?: true;
}

/**
 * Which `completed` or `error` event counts if there are several: the last, the first, or the first error, unless a
 * `completed` follows it. With `first_error` the program may go on after an error; with the others it has 2 seconds.
 */
export type LastWord = "last" | "first" | "first_error";

const path = Type.String({ minLength: 1, maxLength: 1024 });
const scalar = Type.Union([Type.String(), Type.Number(), Type.Boolean(), Type.Null()]);
const texts = Type.String({ minLength: 1, maxLength: 1024 });

const conditions = Type.Record(
  path,
  Type.Union([
    scalar,
    Type.Array(scalar, { minItems: 1, maxItems: 256 }),
    Type.Object({
      not: Type.Optional(Type.Union([scalar, Type.Array(scalar, { minItems: 1, maxItems: 256 })])),
      contains: Type.Optional(Type.Union([texts, Type.Array(texts, { minItems: 1, maxItems: 64 })])),
      from: Type.Optional(Type.Number()),
      to: Type.Optional(Type.Number()),
    }, { ...closed, minProperties: 1 }),
  ]),
);

/** Checks {@link MappingRule}. `checkMappingRules()` checks what a schema cannot. */
export const mappingRuleSchema: SchemaOf<MappingRule> = exactly<MappingRule>()(
  Type.Object({
    when: Type.Optional(conditions),
    else: Type.Optional(conditions),
    event: Type.Optional(Type.Record(path, Type.Unknown())),
    ignore: Type.Optional(Type.Literal(true)),
    once: Type.Optional(path),
    whole: Type.Optional(Type.Literal(true)),
    cumulative: Type.Optional(Type.Literal(true)),
  }, closed),
);
