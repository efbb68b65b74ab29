import { BulkheadError } from "../../../plugin-sdk/errors.ts";

/** Error for a name in use. */
export function taken(name: string): BulkheadError {
  return new BulkheadError("already_exists", `Cannot make the token "${name}": one of that name is there.`, {
    hint: `Choose another name, or "bulkhead token revoke ${name}" first.`,
  });
}

/** Error for the scope `admin` with folders. */
export function adminWithFolders(): BulkheadError {
  return new BulkheadError("invalid_config", "Cannot make the token: the scope admin is not bound to folders.", {
    hint: "Leave out --workdir, or take the scopes read and run.",
  });
}

/** Error for a page of the console whose maker's token has ended. */
export function makerEnded(): BulkheadError {
  return new BulkheadError("unauthorized", "Cannot open the console: the token that made the code has ended.", {
    hint: "Run: bulkhead console",
  });
}

/** Error where no further token fits. */
export function tooMany(most: number): BulkheadError {
  return new BulkheadError("limit_exceeded", `Cannot make a token: there are ${most} already.`, {
    hint: 'Revoke unused ones: "bulkhead token list".',
  });
}
