/** A repository of a person with all that histories need: packages, a submodule, a linked worktree, hooks, a remote. */
export const repository = `
git init -q -b main ../lib; echo lib > ../lib/lib; git -C ../lib add lib; git -C ../lib commit -qm lib
git -C ../lib commit -q --allow-empty -m more
git init -q -b main .; mkdir -p packages/a packages/b .husky
for p in a b; do for n in 1 2 3 4 5 6 7 8; do echo "line $n of package $p"; done > packages/$p/code; done
printf '#!/bin/sh\\ntrue\\n' > .husky/pre-commit; chmod +x .husky/pre-commit; git config core.hooksPath .husky
echo one > shared; echo base > clash; echo rules > AGENTS.md
git -c protocol.file.allow=always submodule add -q "$PWD/../lib" sub; git add .; git commit -qm first
git switch -qc side; echo side > side; echo side > clash; git add .; git commit -qm side
git switch -qc calm main; echo calm > calm; git add .; git commit -qm calm
git switch -q main; echo main > clash; git commit -qam main
git worktree add -q ../linked -b linked; git init -q --bare ../origin.git; git remote add origin "$PWD/../origin.git"
git push -q -u origin main`;

/** Actor and number of a step, with which it names all that it makes. */
interface StepName {
  name: string;
  isAgent: boolean;
  /** Folder for worktrees outside the project that the actor can write. */
  outside: string;
}

/**
 * Script of one step. \`put TEXT FILE\` writes a line, \`wrote TEXT\` tells of one, and \`seen FOLDER\` names the commit there; a step that git
 * refuses changes nothing.
 */
type Step = (step: StepName) => string;

/** Steps of all actors, wherever they work. */
export const steps: readonly Step[] = [
  ({ name }) => `put ${name} ${name}; git add ${name}; git commit -qm ${name}`,
  ({ name }) => `put ${name} ${name}; git add ${name}; git commit -q --amend -m ${name}`,
  ({ name }) => `put ${name} ${name}; git add ${name}`,
  ({ name }) => `put ${name} shared; git add shared; git commit -qm ${name}`,
  ({ name }) => `put ${name} shared`,
  ({ name }) => `git switch -qc ${name}`,
  () => "git switch -q main",
  ({ name }) => `put ${name} shared; git stash`,
  ({ name }) => `put ${name} ${name}; git stash -u`,
  () => "git stash pop",
  ({ name }) => `git tag ${name}`,
  ({ name }) => `git tag -a ${name} -m ${name}`,
  () => "git gc -q --prune=now",
  ({ name }) => `git switch -qc ${name}; put ${name} clash; git add clash; git commit -qm ${name}; git rebase -q main`,
  () => "git add clash; GIT_EDITOR=true git rebase --continue",
  () => "git rebase --quit",
  () => "git merge -q side",
  () => "git merge -q calm -m merged",
  () => "git reset -q --soft HEAD~1",
  ({ name }) => `d=$(ls -d packages*) && git mv $d packages-${name} && git commit -qm ${name}`,
  ({ name }) => `d=$(ls -d packages*/b*) && mv $d "\${d%/*}/b-${name}"`,
  ({ name, outside }) =>
    `git worktree add -q ${outside}/wt-${name} -b ${name}; (cd ${outside}/wt-${name} && echo ${name} > ${name} && git add ${name} && git commit -qm ${name} && wrote ${name}; seen .)`,
  ({ name }) =>
    `git worktree add -q wt-${name} -b ${name}; (cd wt-${name} && put ${name} ${name}; git add ${name}; git commit -qm ${name}; seen .)`,
  ({ name }) =>
    `[ -e sub/.git ] && (cd sub && put ${name} ${name}; git add ${name}; git commit -qm ${name}; seen .); git add sub; git commit -qm ${name}`,
  ({ name, isAgent }) =>
    isAgent
      ? `put ${name} .envrc; put ${name} AGENTS.md; git add AGENTS.md; git commit -qm ${name}`
      : `put ${name} AGENTS.md; git add AGENTS.md; git commit -qm ${name}`,
];

/** Further steps of a person. */
export const ofPerson: readonly Step[] = [
  ({ name, outside }) => `[ -d ${outside}/linked ] && git worktree move ${outside}/linked ${outside}/linked-${name}`,
  ({ name }) => `[ -e sub/.git ] && git mv sub sub-${name} && git commit -qm ${name}`,
  ({ name, outside }) => `git submodule add -q ${outside}/lib sub-${name} && git commit -qm ${name}`,
  () => "git push -q origin HEAD; git fetch -q",
];

/** Scripts of an agent that try to have its program run outside, or its commits run there. */
export const attacks: readonly string[] = [
  "git config core.fsmonitor ./run; git config core.hooksPath hooks",
  "mkdir -p .git/hooks; for h in pre-commit post-checkout post-merge reference-transaction; do cp run .git/hooks/$h; done",
  "echo ../evil > .git/commondir; mkdir -p evil/objects evil/refs; cp .git/HEAD .git/config evil; git config -f evil/config core.fsmonitor ./run",
  "cp run .husky/pre-commit; mv .husky husky; mkdir .husky; cp run .husky/pre-commit",
  "b=$(git hash-object -w run); git switch -qc evil-$b; git update-index --add --cacheinfo 100755,$b,.husky/pre-commit; git commit -qm evil",
  "git init -q nested; git -C nested config core.fsmonitor ../run; git -C nested commit -q --allow-empty -m n; git switch -qc nested; git add nested; git commit -qm nested",
  "printf '[core]\\nfsmonitor=./run\\n' > c; mv c .git/config; echo 'gitdir: evil' > e; mv e .git",
  '[ -e sub/.git ] && git -C sub config core.fsmonitor "$PWD/run"; mv sub old-sub; mkdir sub; git init -q sub; git -C sub config core.fsmonitor "$PWD/run"',
];
