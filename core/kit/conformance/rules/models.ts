import { noSuchModel } from "../misbehaviour.ts";
import { type Rule, skipped } from "../rule.ts";

/** DRIFT: a declared model must be taken, and where models are listed any other must be refused. */
export const modelsRule: Rule = {
  id: "models",
  title: "validateModel() takes each declared model and refuses others where models are listed.",
  check({ members, manifest }) {
    if (members === null) return skipped("The adapter could not be looked at.");
    const listed = manifest.models !== undefined || manifest.cli?.models !== undefined;
    return Object.entries(members.models).flatMap(([model, { type, value, thrown }]) => {
      if (model === noSuchModel) {
        if (thrown && thrown.code !== "invalid_model") {
          return [{ message: `For an unknown model it throws "${thrown.message}", not invalid_model.` }];
        }
        return listed && !thrown
          ? [{ message: "DRIFT: the manifest lists its models, and the adapter takes one that is not listed." }]
          : [];
      }
      if (thrown) {
        return [{ message: `DRIFT: the manifest declares model "${model}", refused with: ${thrown.message}` }];
      }
      return type === "string" && value !== "" ? [] : [{ message: `validateModel("${model}") gave ${type}, no name.` }];
    });
  },
};
