import type { AgentReport } from "../../../../../plugin-sdk/agent-report.ts";
import { plainText } from "../shown-text.ts";
import { Text } from "../text.tsx";

type Options = NonNullable<AgentReport["config"]>["properties"];

/** An agent's own options as fields of a form; those that are left alone stay as the agent is set up. */
export function AgentOptions({ of: { name, config } }: { of: AgentReport }) {
  const options = Object.entries(config?.properties ?? {}).filter(([, { type }]) =>
    type !== "array" && type !== "object"
  );
  if (options.length === 0) return null;
  return (
    <fieldset>
      <legend>Options of {plainText(name, 80)}</legend>
      <div class="form-row">
        {options.map(([option, schema]) => (
          <label key={option}>
            {plainText(option, 60)}
            <OptionField option={option} schema={schema} />
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

function OptionField({ option, schema }: { option: string; schema: Options[string] }) {
  const name = fieldName(option);
  const choices = schema.type === "boolean" ? ["yes", "no"] : schema.enum?.map(String);
  if (choices !== undefined) {
    return (
      <select name={name}>
        <option value="">{unset}</option>
        {choices.map((choice) => <option value={choice}>{plainText(choice, 80)}</option>)}
      </select>
    );
  }
  if (schema.type === "string") {
    return <input type="text" name={name} placeholder={unset} maxLength={schema.max_length} />;
  }
  const step = schema.type === "integer" ? 1 : "any";
  return (
    <input
      type="number"
      name={name}
      placeholder={unset}
      min={schema.minimum}
      max={schema.maximum}
      step={step}
    />
  );
}

/** Returns the options that a person has set, in their types. */
export function optionsIn(data: FormData, options: Options): Record<string, unknown> {
  const set = Object.entries(options).flatMap(([option, { type }]) => {
    const text = String(data.get(fieldName(option)) ?? "").trim();
    return text === "" ? [] : [[option, valueOf(text, type)]];
  });
  return Object.fromEntries(set) as Record<string, unknown>;
}

function valueOf(text: string, type: Options[string]["type"]): unknown {
  if (type === "boolean") return text === "yes";
  return type === "string" ? text : Number(text);
}

function fieldName(option: string): string {
  return `option ${option}`;
}
