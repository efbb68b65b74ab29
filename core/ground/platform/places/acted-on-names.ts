import { foldName } from "../files/fold-name.ts";
import { relative } from "../files/paths.ts";

/** Files and folders that one kind of program acts on without being told to. */
export interface ActedOnGroup {
  /** The programs, in the plural. */
  by: string;
  /** Why a write to them can run a program. */
  why: string;
  /** Names of files and folders, folded, at any depth. */
  names: ReadonlySet<string>;
  /** Families of such names. */
  patterns?: readonly RegExp[];
}

/**
 * Names that the host never writes below a granted root unless the grant names them: files that run, or steer an agent
 * that runs programs, when a person opens, enters, builds, tests or pushes the project in the ordinary way. Plain
 * sources, lock files, scripts and container files are not listed: they run only when a person or an agent starts them.
 */
export const actedOnGroups: readonly ActedOnGroup[] = [
  {
    by: "version control tools",
    why: "Their hooks, filters and settings name programs, which run at the next commit, checkout or status.",
    names: words(
      ".git .gitattributes .gitconfig .githooks .gitmodules git~1 .hg .hgsub .huskyrc .huskyrc.js .huskyrc.json .jj .lfsconfig " +
        ".sl .svn .husky .lefthook .lefthook-local .lefthook-local.yaml .lefthook-local.yml .lefthook.json .lefthook.toml " +
        ".lefthook.yaml .lefthook.yml .overcommit.yml .pre-commit-config.yaml .pre-commit-config.yml " +
        ".pre-commit-hooks.yaml .simple-git-hooks.json lefthook-local.json lefthook-local.toml lefthook-local.yaml " +
        "lefthook-local.yml lefthook.json lefthook.toml lefthook.yaml lefthook.yml prek.toml",
    ),
    patterns: [/^\.simple-git-hooks\./],
  },
  {
    by: "coding agents",
    why: "They take orders, tools to start and commands to approve from these.",
    names: words(
      ".agent .agents .aider .aider.conf.yml .aider.model.settings.yml .amazonq .amp .augment .claude .claude-plugin " +
        ".claude.json .cline .clinerules .codeium .codex .continue .copilot .crush .crush.json .cursor .cursorignore " +
        ".cursorrules .factory .gemini .goose .goosehints .grok .iflow .junie .kilo .kilocode .kilocodemodes .kimi .kiro " +
        ".llm .mcp.json .openhands .openhands_instructions .opencode .pi .qoder .qwen .roo .roomodes .rovodev .rules " +
        ".serena .tabnine .trae .vibe .warp .windsurf .windsurfrules .zencoder agent.md agents.md agents.override.md " +
        "amazonq.md amp.md claude.local.md claude.md codex.md copilot-instructions.md crush.json crush.md cursor.md " +
        "gemini.md goose.md iflow.md kimi.md mcp.json opencode.json opencode.jsonc qwen.md replit.md skill.md warp.md",
    ),
    patterns: [/^\.(clinerules|roorules|roo-rules)-/, /\.(instructions|prompt|chatmode|agent)\.md$/, /\.mdc$/],
  },
  {
    by: "editors",
    why: "They start tasks, debuggers and language servers from these when the folder is opened.",
    names: words(
      ".brackets.json .codesandbox .devcontainer .devcontainer.json .dir-locals-2.el .dir-locals.el .emacs .emacs.d " +
        ".exrc .fleet .gitpod.dockerfile .gitpod.yml .helix .idea .idx .local.vimrc .lvimrc .nova .nvim .nvim.lua " +
        ".project .projections.json .replit .settings .spacemacs .stackblitzrc .theia .vim .vs .vscode .vscode-server " +
        ".zed _vimrc init.el replit.nix",
    ),
    patterns: [/\.(code-workspace|sublime-project|sublime-settings)$/],
  },
  {
    by: "shells and terminals",
    why: "They run these when they start, or when the folder is entered.",
    names: words(
      ".bash_aliases .bash_login .bash_logout .bash_profile .cshrc .direnv .env .envrc .flaskenv .inputrc .login .logout .mise " +
        ".mise.toml .oh-my-zsh .pam_environment .profile .tmux .tmux.conf .tool-versions .wezterm.lua .xprofile .xsession " +
        ".zlogin .zlogout .zprofile .zshenv mise.local.toml mise.toml",
    ),
    patterns: [/^\.env\.(?!(example|sample|template|dist|defaults?|schema)$)/, /^\.?mise\.[\w.]*toml$/],
  },
  {
    by: "desktops and system services",
    why: "They start programs from these at a login or at a time.",
    names: words(
      ".autostart .config .dbus .forward .gnupg .hammerspoon .local .mailcap .procmail .ssh .vnc autorun.inf autostart " +
        "cron.d crontab crontabs desktop.ini launchagents launchdaemons systemd",
    ),
  },
  {
    by: "build servers",
    why: "They run what these say, with the project's own secrets, at the next push.",
    names: words(
      ".appveyor.yml .azure-pipelines .azuredevops .bitrise.yml .build.yml .builds .buildkite .ci .circleci .cirrus.star " +
        ".cirrus.yml .drone.jsonnet .drone.star .drone.yml .forgejo .gitea .github .gitlab .gitlab-ci.yml .gitlab-ci " +
        ".harness .onedev-buildspec.yml .readthedocs.yaml .readthedocs.yml .screwdriver.yaml .semaphore .teamcity .tekton " +
        ".travis.yml .vsts-ci.yml .woodpecker .woodpecker.yaml .woodpecker.yml appveyor.yml bitbucket-pipelines.yml " +
        "bitrise.yml buildspec.yaml buildspec.yml cloudbuild.json cloudbuild.yaml cloudbuild.yml codefresh.yml " +
        "codemagic.yaml dagger.json netlify.toml now.json readthedocs.yml render.yaml renovate.json renovate.json5 " +
        "screwdriver.yaml skaffold.yaml vercel.json wercker.yml",
    ),
    patterns: [/^\.?azure-pipelines[\w.-]*\.ya?ml$/, /\.gitlab-ci\.ya?ml$/],
  },
  {
    by: "package managers and build tools",
    why: "They run the scripts and plugins that these name at the next install, build or start.",
    names: words(
      ".bundle .cargo .deno .gem .gradle .ivy2 .m2 .mvn .npm .pnpmfile.cjs .pnpmfile.mjs .rustup .sbt .yarn build.bazel " +
        "build.rs build.sc build.xml build.zig build.zig.zon bun.lockb buck build.boot cabal.project cargo.toml " +
        "cmakelists.txt cmakepresets.json cmakeusersettings.json cmakeuserpresets.json composer.json configure " +
        "configure.ac configure.in conanfile.py default.nix deno.json deno.jsonc deps.edn devenv.nix " +
        "directory.build.props directory.build.targets dodo.py dub.json earthfile fabfile.py flake.nix " +
        "gradle.properties gradlew gradlew.bat guix.scm init.gradle lerna.json meson.build meson_options.txt mix.exs " +
        "module.bazel mvnw mvnw.cmd node_modules noxfile.py nuget.config nx.json package.json package.json5 package.swift " +
        "package.yaml pom.xml project.clj project.json pyproject.toml rebar.config rush.json sconscript sconstruct " +
        "setup.cfg setup.py shadow-cljs.edn shell.nix stack.yaml tasks.py turbo.json vcpkg.json workspace.bazel wscript " +
        "xmake.lua",
    ),
    patterns: [
      // `Makefile.am`, `Gulpfile.babel.js`, `Taskfile.dist.yml`, and all their kin.
      /^\.?(gnu|bsd)?(appraisal|brew|cake|cap|danger|earth|fast|gem|grunt|guard|gulp|jake|jenkins|just|make|pod|proc|rake|task|thor|tilt|vagrant)(file|s)(\.[\w.-]+)?$/,
      /\.(bazel|bzl|cmake|gemspec|gradle|gradle\.kts|mk|rake|rockspec|sbt)$/,
      /\.([a-z]*proj|props|targets|sln|slnx)$/,
    ],
  },
  {
    by: "test runners and code checkers",
    why: "They load these as code, or load the plugins that these name, and editors start them by themselves.",
    names: words(
      ".coveragerc .golangci.yaml .golangci.yml .rspec .rubocop.yml .rubocop.yaml .yardopts ansible.cfg biome.json " +
        "biome.jsonc conftest.py karma.conf.js mypy.ini phpstan.neon phpstan.neon.dist phpunit.xml phpunit.xml.dist " +
        "protractor.conf.js pytest.ini pytest.toml tox.ini wdio.conf.js wdio.conf.ts",
    ),
    patterns: [
      // `eslint.config.js`, `vitest.config.mts`, `jest.config.cjs`, `vite.config.ts`, `vitest.workspace.ts`.
      /\.(config|conf|workspace)\.[cm]?[jt]sx?$/,
    ],
  },
  {
    by: "interpreters, debuggers and command-line tools",
    why: "They run these when they start, or take programs to run from them.",
    names: words(
      ".ansible .aws .azure .docker .gdbearlyinit .gdbinit .ghci .ipython .irb .jupyter .kube .lesskey .lldbinit " +
        ".my.cnf .mylogin.cnf .nano .netrc .ocamlinit .pdbrc.py .psql .rprofile .terraform .venv .virtualenv " +
        "pyvenv.cfg rprofile.site sitecustomize.py usercustomize.py venv",
    ),
    // `.npmrc`, `.eslintrc.cjs`, `.bashrc` and every other settings file that is called so.
    patterns: [/^\.[\w-]+rc(\.(json|json5|ya?ml|toml|py|rb|[cm]?[jt]s))?$/, /\.pth$/],
  },
  {
    by: "Bulkhead hosts",
    why: "They load the plugins, and start the programs, that these name.",
    names: words("bulkhead.yaml bulkhead.yml"),
  },
];

/**
 * Folders that an agent is kept from making where a project has none, by empty ones: git does not see those. Only the
 * most used are here, because a person sees them while a session runs; any other is reported when it was made.
 */
export const keptEmpty: readonly string[] = [
  ".agents",
  ".circleci",
  ".claude",
  ".cursor",
  ".devcontainer",
  ".gemini",
  ".github",
  ".gitlab",
  ".husky",
  ".opencode",
  ".vscode",
];

/** The group that a file or folder name belongs to, in any spelling; null for other names. */
export function actedOn(name: string): ActedOnGroup | null {
  const folded = foldName(name);
  return actedOnGroups.find(({ names, patterns = [] }) =>
    names.has(folded) || patterns.some((pattern) => pattern.test(folded))
  ) ?? null;
}

/** The first part of a path that programs act on without being told, and its group; null when it has none. */
export function actedOnPart(path: string): { name: string; group: ActedOnGroup } | null {
  for (const name of path.split(/[\\/]/)) {
    const group = actedOn(name);
    if (group !== null) return { name, group };
  }
  return null;
}

/** Says what programs act on by themselves at a path below a folder; null for nothing. */
export function actedOnBelow(folder: string, path: string): string | null {
  const found = actedOnPart(relative(folder, path));
  return found === null ? null : `${found.group.by} act on "${found.name}" by themselves`;
}

function words(list: string): ReadonlySet<string> {
  return new Set(list.split(" "));
}
