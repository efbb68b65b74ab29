/** Keys of a review, for the list of all keys. */
export const reviewKeys = [
  ["j, k", "in a review: next and previous change"],
  ["J, K", "next and previous file"],
  ["n, p", "next and previous line; with Shift more lines"],
  ["c", "comment on the current line"],
  ["v", "the file is viewed, go to the next one"],
  ["e", "close or open the file"],
  ["s", "lines below or beside each other"],
] as const;
