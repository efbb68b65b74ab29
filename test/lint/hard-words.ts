/** Words that make readers parse a sentence twice, or that hide who acts. */
export const hardWords: RegExp =
  /\b(?:whoever|nobody|somebody|anew|for ever|befell|gone along with|thereby|at hand|(?:is|are) to be|tells? of|told of|what became of|in (?:the )?place of)\b/i;
