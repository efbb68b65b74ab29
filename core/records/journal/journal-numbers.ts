/** Numbers that a journal has given out, and the head of its chain. */
export interface Numbers {
  last_gseq: number;
  number: number;
  mac: string;
}

/** Numbers in a row. */
export interface NumberRun {
  from: number;
  to: number;
}
