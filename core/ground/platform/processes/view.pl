# The part that launcher.pl and starter.pl share, put in front of either: it takes the numbers that Perl has no names for.
my ($sendmsg, $setns, $unshare, $setsid, $prctl, $mount, $close, $prlimit, $oom_score) = splice @ARGV, 0, 9;

# Opens what a process enters, and keeps a file open for the program that it becomes.
sub enter {
  my ($user, $net) = @_;
  my @spaces = map { my ($path, $kind) = @$_; $path eq "" ? () : [enterable($path), $kind] }
    [$user, 0x10000000], [$net, 0x40000000];
  syscall($setns, fileno $_->[0], $_->[1]) == 0 or die for @spaces;
}

sub kept {
  fcntl($_[0], 2, 0) or die;
  return fileno $_[0];
}

sub enterable {
  open(my $space, "<", $_[0]) or die;
  return $space;
}

# `make_view` gives its process a view of its own.
#
# Its mounts are private: a disk that is mounted later does not appear in it. Where this user may not make a namespace of
# mounts, the process makes one of users first, as bwrap does.
#
# A view is what bwrap would mount, in its words. Here each mount is a few calls, where bwrap reads the table of all mounts
# after each of its own. All that is shown is cloned before anything is covered, as bwrap takes it from the disk as it was,
# and nothing on the way to a place may be a link (mount_setattr(2), openat2(2)). The disk becomes read-only at once, but for
# the `/proc` in which bwrap writes who it is, and which it covers with that of the new processes.
my ($nothing, $place) = ("", "");
my %makes = (
  "--bind" => sub { bind_as($_[0], 6) },
  "--ro-bind" => sub { bind_as($_[0], 7) },
  "--overlay" => \&layered,
  "--tmpfs" => sub { \&empty_folder },
  "--dev" => \&devices,
  "--hold-link" => sub { held_link($_[0], 7) },
  "--close-link" => sub { held_link($_[0], 0x200007) },
  "--remount-ro" => sub { sub { change(opened($_[0]), 0x1000, 1, 0) } },
);

sub make_view {
  my @words = @_;
  # For bwrap to make its mounts apart from those of the machine. Where only bwrap may make namespaces, it does so itself.
  if ($words[0] eq "--private") { eval { own_mounts() }; return }
  # Folders that it makes have the same mode whatever the person's mask is.
  my $mask = umask 022;
  own_mounts();
  my @mounts;
  while (@words) {
    my $kind = $words[0];
    my (undef, $from, @to) = splice @words, 0, $kind eq "--overlay" ? 4 : $kind =~ /bind/ ? 3 : 2;
    next if $from eq "/proc";
    my $act = $makes{$kind} or fail_with(22);
    push @mounts, [$to[-1] // $from, $act->($from, @to)];
  }
  change(opened("/"), 0x9000, 7, 0);
  change(opened("/proc"), 0x1000, 0, 1);
  for (@mounts) {
    my ($at, $act) = @$_;
    # A mount over all of it would not be seen from here.
    $at ne "/" or fail_with(22);
    $act->($at);
  }
  umask $mask;
}

sub own_mounts {
  my ($user, $group) = ($>, $) + 0);
  if (syscall($unshare, 0x20000) != 0) {
    syscall($unshare, 0x10020000) == 0 or die;
    note("setgroups", "deny");
    note("uid_map", "$user $user 1");
    note("gid_map", "$group $group 1");
  }
  mount_as("none", "/", 0x44000, "");
}

sub note {
  my ($name, $text) = @_;
  open(my $file, ">", "/proc/self/$name") or die;
  syswrite($file, $text) or die;
}

sub mount_as {
  my ($type, $at, $flags, $options) = @_;
  syscall($mount, $type, $at, $type, $flags, $options) == 0 or die;
}

sub bind_as {
  my ($from, $flags) = @_;
  my ($tree, $is_folder) = (cloned($from, $flags), -d $from);
  return sub {
    # A file to hide, such as another program's socket, may have gone since it was seen.
    return syscall($close, $tree) if $from eq "/dev/null" && !lstat $_[0];
    attach($tree, $is_folder, @_);
  };
}

# A folder that is read, under a layer for what is written: overlayfs. Where the system has none it is read-only.
sub layered {
  my ($from, $layer) = @_;
  my ($lower, $over) = (opened($from), opened($layer));
  my %options = (lowerdir => "/proc/self/fd/$lower", upperdir => "/proc/self/fd/$over/upper",
    workdir => "/proc/self/fd/$over/work");
  my $made = eval {
    my ($type, $flag) = ("overlay", "userxattr");
    my $system = file(syscall(430, $type, 0));
    while (my ($name, $value) = each %options) {
      syscall(431, $system, 1, $name, $value, 0) == 0 or die;
    }
    syscall(431, $system, 0, $flag, 0, 0);
    syscall(431, $system, 6, 0, 0, 0) == 0 or die;
    my $tree = file(syscall(432, $system, 0, 6));
    syscall($close, $system);
    $tree;
  };
  syscall($close, $_) for $lower, $over;
  return bind_as($from, 7) if !defined $made;
  return sub { attach($made, 1, @_) };
}

sub empty_folder {
  my ($at) = @_;
  ensure($at, 1);
  my $to = opened($at);
  mount_as("tmpfs", "/proc/self/fd/$to", 6, "mode=0755");
  syscall($close, $to);
}

sub devices {
  my %trees = map { ($_ => cloned("/dev/$_", 2)) } grep { -e "/dev/$_" } qw(null zero full random urandom tty);
  return sub {
    my ($at) = @_;
    empty_folder($at);
    attach($trees{$_}, 0, "$at/$_") for keys %trees;
    my %links = (fd => "fd", stdin => "fd/0", stdout => "fd/1", stderr => "fd/2");
    symlink("/proc/self/$links{$_}", "$at/$_") or die for keys %links;
    symlink("/proc/kcore", "$at/core") && symlink("pts/ptmx", "$at/ptmx") && mkdir("$at/shm", 0755) or die;
    mkdir("$at/pts", 0755) or die;
    mount_as("devpts", "$at/pts", 10, "newinstance,ptmxmode=0666,mode=620");
  };
}

sub held_link {
  my ($at, $flags) = @_;
  my ($above, $name) = $at =~ m{^(.*)/(.+)$}s;
  my $tree = eval {
    my $folder = opened("$above/.");
    my $link = -l $at ? file(syscall(428, $folder, $name, 0x80101)) : die;
    syscall($close, $folder);
    change($link, 0x1000, $flags, 0);
    $link;
  };
  return sub {
    defined $tree or return;
    my $to = opened("$above/.");
    syscall(429, $tree, $nothing, $to, $name, 4);
    syscall($close, $_) for $to, $tree;
  };
}

sub opened {
  my ($path) = @_;
  $place = $path;
  my $how = pack "Q3", 0x280000, 0, 4;
  return file(syscall(437, -100, $path, $how, length $how));
}

sub cloned {
  my ($from, $flags) = @_;
  my $at = opened($from);
  my $tree = file(syscall(428, $at, $nothing, 0x89001));
  syscall($close, $at);
  change($tree, 0x9000, $flags, 0);
  return $tree;
}

sub file {
  $_[0] < 0 and die;
  return $_[0];
}

sub change {
  my ($file, $ways, $set, $clear) = @_;
  my $change = pack "Q4", $set, $clear, 0, 0;
  syscall(442, $file, $nothing, $ways, $change, length $change) == 0 or die;
}

sub attach {
  my ($tree, $is_folder, $at) = @_;
  ensure($at, $is_folder);
  my $to = opened($at);
  syscall(429, $tree, $nothing, $to, $nothing, 0x44) == 0 or die;
  syscall($close, $_) for $to, $tree;
}

sub ensure {
  my ($at, $is_folder) = @_;
  return if -e $at;
  mkdir substr($at, 0, pos $at), 0755 while $at =~ m{[^/](?=/)}g;
  $is_folder ? mkdir($at, 0755) : sysopen(my $file, $at, 0301, 0444) or die;
}

sub fail_with {
  $! = $_[0];
  die;
}
