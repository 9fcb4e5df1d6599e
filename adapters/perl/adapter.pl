#!/usr/bin/perl

# mongodyno's adapter of the Perl driver: reads a line, does it, answers it. SPEC sections 1 to 3.

use 5.014;
use strict;
use warnings;

use Fcntl qw(F_SETFL F_SETOWN FASYNC);
use FindBin;
use JSON::PP;
use POSIX       ();
use Time::HiRes qw(clock_getres CLOCK_MONOTONIC);

# A driver beside the adapter takes precedence over the machine's.
use lib grep { -d } "$FindBin::Bin/driver/lib/perl5";
use lib "$FindBin::Bin/lib";

use Clock;
use Dialect;
use Documents;
use Phase;

my $PROTOCOL    = 2;
my $LINE_BYTES  = 1 << 20;
my $MESSAGE_MAX = 4_096;
my @PACINGS     = qw(awaited think rate burst);

my $json = JSON::PP->new->utf8->canonical;
my ( $session, $current, $in_turn, $stopped );
my $unread = q{};

my %HANDLERS = (
    hello   => \&hello,
    clock   => sub { say_answer( 'clock', now_ns => Clock::now_ns() ) },
    open    => \&open_session,
    prepare => \&prepare,
    turn    => \&turn,
    end     => sub { say_answer( 'ended', %{ $current->finish } ) },
    close   => \&close_session,
    render  => sub {
        my $bson = Documents::render( $_[0] );
        say_answer( 'rendered', bson => unpack 'H*', $bson );
    },
);

sub say_answer {
    my ( $type, %fields ) = @_;
    say_line( $json->encode( { type => $type, %fields } ) );
    return;
}

sub say_line {
    my ( $line ) = @_;
    my $text = "\x1E$line\n";
    while ( length $text ) {
        my $written = syswrite STDOUT, $text;
        substr $text, 0, $written // 0, q{};
        leave() if !defined $written && !$!{EINTR};
    }
    return;
}

# Ends at once: END blocks and destructors would talk to the server.
sub leave {
    POSIX::_exit( 0 );
    return;
}

# Lines are read by sysread, so that the poll sees what is unread in a turn, not a buffer of Perl's.
sub next_line {
    my $end;
    while ( ( $end = index $unread, "\n" ) < 0 ) {
        my $count = sysread STDIN, $unread, $LINE_BYTES, length $unread;
        leave() if defined $count ? !$count : !$!{EINTR};
    }
    return substr $unread, 0, $end + 1, q{};
}

# In a turn the core sends nothing, so the only thing to read is the end of stdin.
sub leave_if_alone {
    vec( my $readable = q{}, fileno( STDIN ), 1 ) = 1;
    return if !$in_turn || select( $readable, undef, undef, 0 ) < 1;
    leave() if !sysread STDIN, $unread, $LINE_BYTES, length $unread;
    return;
}

# The worker is the whole process, so signals announce both ends in a turn.
sub listen_for_ends {
    $SIG{IO} = \&leave_if_alone;
    fcntl STDIN, F_SETOWN, $$ + 0 or die "fcntl: $!\n";
    fcntl STDIN, F_SETFL,  FASYNC or die "fcntl: $!\n";
    $SIG{TERM} = sub {
        leave() if !$in_turn;
        $stopped = 1;
        $current->stop;
    };
    return;
}

sub refuse {
    my ( $error )  = @_;
    my $is_refusal = ref $error eq 'Refusal';
    my $message    = $is_refusal ? $error->{message} : "$error";
    print {*STDERR} "$message\n";
    say_answer(
        'error',
        code    => $is_refusal ? $error->{code} : 'internal',
        message => substr $message,
        0, $MESSAGE_MAX
    );
    return;
}

# A turn is read and answered without JSON::PP. With eight processes on a core, that took 3 % of
# their turns of 100 ms.
my $TURN = qr/^ \{ "type":"turn","until_ns": ( \d+ ) \} $/xms;

sub parse {
    my ( $line ) = @_;
    return { type => 'turn', until_ns => 0 + $1 }
        if $line =~ $TURN;
    my $message = eval { $json->decode( $line ) };
    Refusal::throw( 'protocol', 'not a line with a JSON object' ) if ref $message ne 'HASH';
    return $message;
}

sub hello {
    my ( $message ) = @_;
    Refusal::throw( 'protocol', "protocol $PROTOCOL only" ) if $message->{protocol} != $PROTOCOL;
    Clock::set_epoch( $message->{epoch_ns} );
    say_answer(
        'hello',
        protocol => $PROTOCOL,
        adapter  => 'perl',
        driver   => Dialect::driver(),
        runtime  => { name => 'perl', version => sprintf( '%vd', $^V ), flags => flags() },
        clock    => {
            source        => 'CLOCK_MONOTONIC',
            resolution_ns => int( clock_getres( CLOCK_MONOTONIC ) * 1e9 + 0.5 ),
        },
        capabilities => {
            %{ Dialect::capabilities() },
            pacing      => \@PACINGS,
            shapes      => [],
            consumer_ns => undef,
            concurrency => { kind => 'processes', max => 1, threads => undef },
        },
    );
    return;
}

sub flags {
    open my $file, '<', '/proc/self/cmdline' or return [];
    my ( undef, @words ) = split /\0/x, <$file>;
    my @flags = split q{ }, $ENV{PERL5OPT} // q{};
    push @flags, shift @words while @words && $words[0] ne $0;
    return \@flags;
}

sub open_session {
    my ( $message ) = @_;
    my @clients = map { Dialect::connect_client( $_ ) } @{ $message->{clients} };
    $session = { clients => \@clients, deal => $message->{deal}, database => $message->{database} };
    say_answer( 'opened', %{ Dialect::opened( $clients[0] ) } );
    return;
}

sub prepare {
    my ( $message ) = @_;
    my $mode = $message->{consumer} ? 'of a consumer' : $message->{pacing}{mode};
    Refusal::throw( 'unsupported', "pacing $mode" )          if !grep { $_ eq $mode } @PACINGS;
    Refusal::throw( 'unsupported', 'more workers than one' ) if $message->{workers} > 1;
    for my $spec ( @{ $message->{operations} } ) {
        next if $Dialect::KINDS{ $spec->{kind} } && !$spec->{shape};
        Refusal::throw( 'unsupported', "operation $spec->{kind}" );
    }

    # No-ops may come before `open`.
    $current = Phase->new( $message, $session // { clients => [undef], deal => 'worker' } );
    say_answer( 'ready' );
    return;
}

sub turn {
    my ( $message ) = @_;
    $in_turn = 1;
    leave_if_alone();            # its signal may have come before
    my $done    = eval { $current->turn( $message->{until_ns} ) };
    my $problem = $@;
    $in_turn = 0;
    leave()      if $stopped;    # the samples are written; a stopped turn has no answer
    die $problem if !$done;
    say_line( sprintf '{"type":"turn_done","began_ns":%d,"exhausted":%s,"gave_up":%s}',
        $done->{began_ns}, map { $done->{$_} ? 'true' : 'false' } qw(exhausted gave_up) );
    return;
}

sub close_session {
    $_->disconnect for @{ $session->{clients} // [] };
    say_answer( 'closed' );
    leave();
    return;
}

listen_for_ends();
while ( defined( my $line = next_line() ) ) {
    eval {
        my $message = parse( $line );
        my $handler = $HANDLERS{ $message->{type} // q{} };
        Refusal::throw( 'protocol', 'a message of unknown type' ) if !$handler;
        $handler->( $message );
        1;
    } or refuse( $@ );
}
