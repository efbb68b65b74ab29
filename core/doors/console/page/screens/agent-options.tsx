import type { AgentReport } from "../../../../../plugin-sdk/agent-report.ts";
import { plainText } from "../shown-text.ts";
import { Text } from "../text.tsx";

type Options = NonNullable<AgentReport["config"]>["properties"];

/** Options of a session, in their types. */
type Params = Readonly<Record<string, unknown>>;

/** An agent's own options as fields of a form; those that are left alone stay as the agent is set up. */
export function AgentOptions({ of: { name, config }, given }: { of: AgentReport; given: Params }) {
  const options = Object.entries(config?.properties ?? {}).filter(([, schema]) => hasField(schema));
  if (options.length === 0) return null;
  return (
    <fieldset>
      <legend>Options of {plainText(name, 80)}</legend>
      <div class="form-row">
        {options.map(([option, schema]) => (
          <label key={option}>
            {plainText(option, 60)}
            <OptionField option={option} schema={schema} given={given[option]} />
          </label>
        ))}
      </div>
      <dl class="facts option-words">
        {options.map(([option, schema]) => (
          <>
            <dt>{plainText(option, 60)}</dt>
            <dd>
              <Text of={wordsOf(schema)} />
            </dd>
          </>
        ))}
      </dl>
    </fieldset>
  );
}

/** Stands where a person has set nothing. */
const unset = "as it is set up";

function wordsOf({ description = "", default: own }: Options[string]): string {
  const ending = own === undefined ? "" : ` Where nothing is set: ${String(own)}.`;
  return plainText(`${description}${ending}`, 400);
}

/** Lists have no field. */
function hasField({ type }: Options[string]): boolean {
  return type !== "array" && type !== "object";
}

function OptionField({ option, schema, given }: { option: string; schema: Options[string]; given: unknown }) {
  const name = fieldName(option);
  const choices = schema.type === "boolean" ? ["yes", "no"] : schema.enum?.map(String);
  const known = given === undefined ? "" : typeof given === "boolean" ? (given ? "yes" : "no") : String(given);
  if (choices !== undefined) {
    return (
      <select name={name}>
        <option value="">{unset}</option>
        {choices.map((choice) => <option value={choice} selected={choice === known}>{plainText(choice, 80)}</option>)}
      </select>
    );
  }
  if (schema.type === "string") {
    return <input type="text" name={name} defaultValue={known} placeholder={unset} maxLength={schema.max_length} />;
  }
  const step = schema.type === "integer" ? 1 : "any";
  return (
    <input
      type="number"
      name={name}
      defaultValue={known}
      placeholder={unset}
      min={schema.minimum}
      max={schema.maximum}
      step={step}
    />
  );
}

/** Returns the options that a person has set, in their types, and those of an earlier session that have no field. */
export function optionsIn(data: FormData, options: Options, earlier: Params = {}): Record<string, unknown> {
  const kept = Object.entries(earlier).filter(([option]) =>
    options[option] !== undefined && !hasField(options[option])
  );
  const set = Object.entries(options).flatMap(([option, { type }]) => {
    const text = String(data.get(fieldName(option)) ?? "").trim();
    return text === "" ? [] : [[option, valueOf(text, type)]];
  });
  return Object.fromEntries([...kept, ...set]) as Record<string, unknown>;
}

function valueOf(text: string, type: Options[string]["type"]): unknown {
  if (type === "boolean") return text === "yes";
  return type === "string" ? text : Number(text);
}

function fieldName(option: string): string {
  return `option ${option}`;
}
