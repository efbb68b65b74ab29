/** Numbers from 0 to 1 that a seed determines (a linear congruential generator; Numerical Recipes' constants). */
export function randomFrom(start: number): () => number {
  let state = start >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
