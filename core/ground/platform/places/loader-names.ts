/** Variables that make one kind of program run code that no command names. */
interface LoaderGroup {
  /** The programs. */
  of: string;
  /** Whole names, in capitals. */
  names: readonly string[];
  /** Beginnings of names, in capitals. */
  prefixes?: readonly string[];
}

/**
 * Variables that name code to load, a program to start, options that do either, or the location of such settings.
 * Variables of single agents are not listed: permission to start an agent already allows more.
 */
const loaderGroups: readonly LoaderGroup[] = [
  {
    of: "the host itself",
    names: [],
    prefixes: words("BULKHEAD_"),
  },
  {
    of: "the dynamic loader and the C library",
    names: words(
      "GCONV_PATH GETCONF_DIR GLIBC_TUNABLES HOSTALIASES LIBPATH LOCALDOMAIN LOCPATH MALLOC_CONF NLSPATH RES_OPTIONS " +
        "SHLIB_PATH TZDIR",
    ),
    prefixes: words("LD_ DYLD_ _RLD"),
  },
  {
    of: "libraries with modules",
    names: words(
      "ALSA_CONFIG_PATH FONTCONFIG_FILE FONTCONFIG_PATH GDK_PIXBUF_MODULE_FILE GIO_EXTRA_MODULES GIO_MODULE_DIR " +
        "GTK_MODULES GTK_PATH ICU_DATA KRB5_CONFIG LIBGL_DRIVERS_PATH MAGIC OPENSSL_CONF OPENSSL_CONF_INCLUDE " +
        "OPENSSL_ENGINES OPENSSL_MODULES PKCS11_PROVIDER_MODULE SASL_CONF_PATH SASL_PATH TERMCAP TERMINFO TERMINFO_DIRS",
    ),
    prefixes: words("GST_PLUGIN P11_KIT_ QML QT_PLUGIN QT_QPA_PLATFORM_PLUGIN VK_"),
  },
  {
    of: "every program: whose it is, and where its files and settings are",
    names: words(
      "APPDATA COMSPEC DBUS_SESSION_BUS_ADDRESS DBUS_SYSTEM_BUS_ADDRESS HOME LOCALAPPDATA LOGNAME PATH PATHEXT " +
        "PROGRAMDATA SHELL SYSTEMROOT TEMP TMP TMPDIR USER USERPROFILE WINDIR",
    ),
    prefixes: words("XDG_"),
  },
  {
    of: "shells and terminals",
    names: words(
      "BASHOPTS BASH_ENV BASH_LOADABLES_PATH CDPATH ENV FCEDIT FPATH GLOBIGNORE HISTFILE IFS INPUTRC MODULE_PATH " +
        "NU_LIB_DIRS NU_PLUGIN_DIRS PROMPT_COMMAND PS0 PS1 PS2 PS3 PS4 SCREENDIR SCREENRC SHELLOPTS STARSHIP_CONFIG " +
        "TMUX TMUX_TMPDIR XONSHRC ZDOTDIR",
    ),
    prefixes: words("BASH_FUNC_ FISH_"),
  },
  {
    of: "pagers, editors and browsers, which other programs start",
    names: words(
      "ALTERNATE_EDITOR AWS_PAGER BAT_CONFIG_PATH BAT_PAGER BROWSER CHROME_BIN CHROME_PATH CVSEDITOR DELTA_PAGER EDITOR " +
        "EXINIT FIREFOX_BIN GH_BROWSER GH_EDITOR GH_PAGER GVIMINIT HGEDITOR KUBE_EDITOR LESS LESSCLOSE LESSEDIT LESSKEY " +
        "LESSKEYIN LESSKEY_CONTENT LESSKEY_SYSTEM LESSOPEN MANOPT MANPAGER MANPATH MANROFFOPT MORE MYVIMRC NEXINIT " +
        "NVIM_APPNAME P4DIFF P4EDITOR PAGER PERLDOC_PAGER PSQL_EDITOR PSQL_PAGER RI_PAGER SUDO_EDITOR SVN_EDITOR " +
        "SYSTEMD_EDITOR SYSTEMD_LESS SYSTEMD_PAGER TEXEDIT VIM VIMINIT VIMRUNTIME VISUAL",
    ),
    prefixes: words("EMACS"),
  },
  {
    of: "version control",
    names: words(
      "BZR_HOME BZR_PLUGIN_PATH BZR_SSH CVSROOT CVS_RSH CVS_SERVER HG HGMERGE HGRCPATH JJ_CONFIG JJ_EDITOR P4CONFIG " +
        "PRE_COMMIT_HOME SVN_MERGE SVN_SSH",
    ),
    prefixes: words("BRZ_ GIT_ LEFTHOOK"),
  },
  {
    of: "programs that reach other machines",
    names: words(
      "AUTOSSH_PATH CURL_HOME LFTP_HOME LYNX_CFG MAILCAPS MAILRC NETRC RESTIC_PASSWORD_COMMAND SENDMAIL SSH_ASKPASS " +
        "SSH_ASKPASS_REQUIRE SSH_PKCS11_HELPER SSH_SK_HELPER SSH_SK_PROVIDER SUDO_ASKPASS SYSTEM_WGETRC WGETRC",
    ),
    prefixes: words("ANSIBLE_ BORG_ RCLONE_ RSYNC_"),
  },
  {
    of: "archivers and tools for text",
    names: words(
      "ACKRC ACK_OPTIONS ACK_PAGER AWKLIBPATH AWKPATH BZIP BZIP2 GREP_OPTIONS GS_LIB GS_OPTIONS GZIP LZOP M4PATH PARALLEL " +
        "PARALLEL_HOME PARALLEL_SHELL RIPGREP_CONFIG_PATH RMT TAPE TAR_OPTIONS TEXINPUTS UNZIP UNZIPOPT XZ_DEFAULTS XZ_OPT " +
        "ZIPINFO ZIPINFOOPT ZIPOPT",
    ),
    prefixes: words("FZF_ GROFF_ MAGICK_ TEXMF"),
  },
  {
    of: "make, compilers and build tools",
    names: words(
      "ACLOCAL_PATH ANT_ARGS ANT_HOME ANT_OPTS AR AS AUTOCONF AUTOHEADER AUTOM4TE AUTOMAKE CC CCC_OVERRIDE_OPTIONS CFLAGS " +
        "COMPILER_PATH CONFIG_SHELL CONFIG_SITE CPATH CPLUS_INCLUDE_PATH CPP CPPFLAGS CXX CXXFLAGS C_INCLUDE_PATH " +
        "DEPENDENCIES_OUTPUT F77 FC FFLAGS GCC_EXEC_PREFIX GNUMAKEFLAGS GRADLE_HOME GRADLE_OPTS GRADLE_USER_HOME LDFLAGS " +
        "LEX LIBRARY_PATH LIBS M2_HOME MAKE MAKEFILES MAKEFLAGS MAKESHELL MAVEN_ARGS MAVEN_CONFIG MAVEN_HOME MAVEN_OPTS " +
        "MFLAGS NINJAFLAGS NM OBJCOPY OBJC_INCLUDE_PATH PKG_CONFIG PKG_CONFIG_LIBDIR PKG_CONFIG_PATH RANLIB SBT_OPTS " +
        "SCONSFLAGS STRIP SUNPRO_DEPENDENCIES YACC",
    ),
    prefixes: words("BAZEL CCACHE_ CMAKE_ CTEST_ DISTCC_ ICECC_ JUST_ LIBTOOL MVNW_ ORG_GRADLE_PROJECT_ SCCACHE_"),
  },
  {
    of: "Node, Deno, Bun and their package managers",
    names: words(
      "ESBUILD_BINARY_PATH NVM_DIR N_PREFIX PUPPETEER_EXECUTABLE_PATH SASS_PATH VSCODE_INSPECTOR_OPTIONS",
    ),
    prefixes: words(
      "BABEL_ BUN_ COREPACK_ DENO_ ELECTRON_ FNM_ NODE_ NPM_ PLAYWRIGHT_ PNPM_ PRISMA_ TSX_ TS_NODE_ VOLTA_ YARN_",
    ),
  },
  {
    of: "Python and its tools",
    names: words(
      "COVERAGE_PROCESS_START COVERAGE_RCFILE DJANGO_SETTINGS_MODULE FLASK_APP IPYTHONDIR MYPYPATH MYPY_CONFIG_FILE_DIR " +
        "PYLINTRC VIRTUAL_ENV",
    ),
    prefixes: words(
      "CONDA_ HATCH_ JUPYTER_ MAMBA_ NOX PDM_ PIPENV_ PIPX_ PIP_ POETRY_ PYENV_ PYTEST_ PYTHON SETUPTOOLS_ TOX UV_ " +
        "VIRTUALENV_",
    ),
  },
  {
    of: "Perl, Ruby, PHP, Lua, R, Tcl",
    names: words(
      "IRBRC MODULEBUILDRC PERLDB_OPTS PERLLIB PHPRC PHP_INI_SCAN_DIR RAKEOPT SPEC_OPTS TCLLIBPATH TCL_LIBRARY TK_LIBRARY",
    ),
    prefixes: words(
      "BUNDLE_ BUNDLER_ COMPOSER_ GEM_ HARNESS_ IRB_ LUAROCKS_ LUA_ PERL5 PERLBREW_ PERL_ RBENV_ RUBY RVM_ R_",
    ),
  },
  {
    of: "the Java platform and .NET",
    names: words(
      "CLASSPATH CLJ_CONFIG JAVACMD JAVA_HOME JAVA_OPTS JAVA_TOOL_OPTIONS JDK_HOME JDK_JAVA_OPTIONS JRE_HOME JVM_OPTS " +
        "KOTLIN_HOME SCALA_HOME _JAVA_OPTIONS",
    ),
    prefixes: words("CATALINA_ COMPLUS_ CORECLR_ COR_ DOTNET_ GROOVY_ LEIN_ MONO_ MSBUILD NUGET_"),
  },
  {
    of: "Go, Rust and other compiled languages",
    names: words(
      "CAML_LD_LIBRARY_PATH GCCGO GOAUTH GOBIN GOCACHE GOCACHEPROG GOENV GOEXPERIMENT GOFLAGS GOINSECURE GOMODCACHE " +
        "GONOPROXY GONOSUMCHECK GONOSUMDB GOPATH GOPRIVATE GOPROXY GOROOT GOSUMDB GOTOOLCHAIN GOTOOLDIR GOVCS GOWORK " +
        "MIRIFLAGS RUSTFLAGS RUSTFMT SBCL_HOME",
    ),
    prefixes: words(
      "CABAL_ CARGO CGO_ ELIXIR_ ERL_ GHC GUILE_ HEX_ JULIA_ MIX_ NIM OCAML OCTAVE_ OPAM REBAR_ RUSTC RUSTDOC RUSTUP_ " +
        "STACK_ SWIFT_ ZIG_",
    ),
  },
  {
    of: "debuggers and sanitizers",
    names: words("GDBHISTFILE PERF_EXEC_PATH STRACE_OPTS VALGRIND_LIB VALGRIND_OPTS"),
    prefixes: words("ASAN_ LLDB_ LSAN_ MSAN_ TSAN_ UBSAN_"),
  },
  {
    of: "clients of databases",
    names: words(
      "LIBMYSQL_PLUGINS LIBMYSQL_PLUGIN_DIR MYSQL_HOME MYSQL_TEST_LOGIN_FILE ODBCINI ODBCSYSINI ORACLE_HOME PGSERVICEFILE " +
        "PGSYSCONFDIR PSQLRC REDISCLI_RCFILE TNS_ADMIN",
    ),
  },
  {
    of: "containers, clouds and secrets",
    names: words(
      "AWS_CONFIG_FILE AWS_DATA_PATH AWS_SHARED_CREDENTIALS_FILE AZURE_CONFIG_DIR AZURE_EXTENSION_DIR CONTAINER_HOST " +
        "GH_CONFIG_DIR GLAB_CONFIG_DIR GNUPGHOME KUBECONFIG PACKER_CONFIG " +
        "PACKER_PLUGIN_PATH PULUMI_HOME TERRAFORM_CONFIG TF_PLUGIN_CACHE_DIR VAULT_CONFIG_PATH",
    ),
    prefixes: words(
      "BUILDAH_ BUILDX_ CLOUDSDK_ COMPOSE_ CONTAINERS_ DOCKER_ HELM_ KUBECTL_ PASSWORD_STORE_ PODMAN_ TF_CLI_ VAGRANT_",
    ),
  },
  {
    of: "managers of packages, versions and services",
    names: words("APT_CONFIG"),
    prefixes: words("ASDF_ DEBCONF_ DIRENV_ DPKG_ GUIX_ HOMEBREW_ MISE_ NIX SYSTEMD_"),
  },
];

const wholeNames: ReadonlySet<string> = new Set(loaderGroups.flatMap(({ names }) => names));
const beginnings: readonly string[] = loaderGroups.flatMap(({ prefixes = [] }) => prefixes);

/**
 * True when a program's loader, shell, interpreter or helper takes code, or the location of code, from this variable.
 * Neither an adapter nor a request may set one; a child can only get the host's own value, where the operator granted
 * the name.
 */
export function isLoaderName(name: string): boolean {
  const upper = name.toUpperCase();
  return wholeNames.has(upper) || beginnings.some((prefix) => upper.startsWith(prefix));
}

function words(list: string): string[] {
  return list.split(" ");
}
