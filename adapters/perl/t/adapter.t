#!/usr/bin/perl

# Tests of the driver's peculiarities; `mongodyno check` replays the vectors. MDYN_URI adds those on
# a server.

use 5.014;
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";

use Config;
use File::Temp qw(tempdir);
use IPC::Open2 qw(open2);
use JSON::PP;
use Scalar::Util qw(refaddr);
use Test::More;
use Time::HiRes qw(clock_gettime sleep CLOCK_MONOTONIC);

use Dialect;
use Documents;

my $FOREVER_NS = 2**53 - 1;
my $json       = JSON::PP->new->utf8;
my $folder     = tempdir( CLEANUP => 1 );
my $uri        = $ENV{MDYN_URI};

# An adapter as a child.
sub start {
    my $pid  = open2( my $from, my $to, $Config{perlpath}, "$FindBin::Bin/../adapter.pl" );
    my $self = { pid => $pid, from => $from, to => $to };
    ask( $self, 'hello', protocol => 2, epoch_ns => int clock_gettime( CLOCK_MONOTONIC ) * 1e9 );
    return $self;
}

sub finish {
    my ( $child ) = @_;
    close $child->{to} or die "close: $!\n";
    waitpid $child->{pid}, 0;
    return $?;
}

sub tell_it {
    my ( $child, $type, %fields ) = @_;
    print { $child->{to} } $json->encode( { type => $type, %fields } ), "\n";
    $child->{to}->flush;
    return;
}

sub ask {
    my ( $child, @message ) = @_;
    tell_it( $child, @message );
    return $json->decode( substr readline $child->{from}, 1 );
}

sub open_at {
    my ( $child, $target, $database ) = @_;
    my %options = map { split /=/, $_, 2 } split /&/, $target =~ s/\A[^?]*[?]?//r;
    my $client  = { uri => $target, options => \%options };
    return ask( $child, 'open', deal => 'worker', database => $database, clients => [$client] );
}

sub spurt {
    my ( $name, $bytes ) = @_;
    open my $file, '>:raw', "$folder/$name" or die "$name: $!\n";
    print {$file} $bytes;
    close $file or die "$name: $!\n";
    return "$folder/$name";
}

# Records are pairs: when it is intended, and the operation's number.
sub prepare {
    my ( $child, $operations, $records, $pool, %changes ) = @_;
    my $head = pack 'a8V4Q<', 'MDYNSCH2', 32, scalar @{$records}, 1, 0, 0;
    my @rows = map { pack 'Q<2V2C2x6', $_->[0], 0, 0, 1, $_->[1], 0 } @{$records};
    return ask(
        $child, 'prepare',
        schedule     => spurt( 'schedule', join q{}, $head, @rows ),
        pools        => [ spurt( 'pool', join q{}, map { Dialect::encode( $_ ) } @{$pool} ) ],
        samples      => "$folder/samples",
        operations   => $operations,
        workers      => 1,
        first_worker => 0,
        limits       => [ scalar @{$records} ],
        pacing       => { mode => 'awaited' },
        lap_step     => 0,
        item_step    => 0,
        errors_consecutive_max => 10,
        %changes,
    );
}

sub outcomes {
    my $bytes = Documents::read_file( "$folder/samples" );
    return [ map { ord substr $bytes, $_ * 32 + 29, 1 } 0 .. length( $bytes ) / 32 - 1 ];
}

sub with_stamp {
    my ( $as, $from ) = @_;
    my $stamp = { path => ['n'], as => $as, from => $from };
    return Documents::builder( [ sub { return {} } ], [$stamp] )->( { document => 0, key => 7 } );
}

subtest 'copies share nothing that can change, and keep the types of numbers' => sub {
    my $bytes =
        Dialect::encode( { d => 5.0, n => { b => Dialect::guid( 'x' x 16 ) }, l => [ {} ] } );
    my $copy = Documents::copier( Dialect::decode( $bytes ) );
    my ( $first, $second ) = ( $copy->(), $copy->() );
    isnt( refaddr $first->{n}{b}, refaddr $second->{n}{b}, 'a binary value is made anew' );
    $first->{l}[0]{more} = 1;
    is_deeply( $second->{l}, [ {} ], 'arrays are copied deeply' );
    is( length Dialect::encode( { d => $second->{d} } ), 16, 'a whole double stays a double' );
    is( length Dialect::encode( with_stamp( 'double', 'key' ) ), 16, 'as a stamp, too' );
    is( unpack( 'x4C', Dialect::encode( with_stamp( 'int64', 'made_ns' ) ) ),
        0x12, 'the clock is a whole number' );
};

subtest 'failures have the code of the server' => sub {
    my $batch = bless { write_errors => [ { code => 11_000 } ], write_concern_errors => [] },
        'MongoDB::BulkWriteResult';
    my $fault = MongoDB::DuplicateKeyError->new( message => 'E11000', result => $batch );
    is_deeply( [ Dialect::failure( $fault ) ], [ 2, 11_000, 'DuplicateKeyError', 'E11000' ] );
    for my $class ( qw(NetworkTimeout SelectionError) ) {
        is( ( Dialect::failure( "MongoDB::$class"->new( message => 'late' ) ) )[0], 3, $class );
    }
};

subtest 'refused connection strings' => sub {
    my $child = start();
    for my $options (
        qw(nonsense=1 maxPoolSize=9 journal=maybe readPreference=bogus connect=direct),
        'w=0&journal=true' )
    {
        my $answer = open_at( $child, "mongodb://127.0.0.1:1/?$options", 'x' );
        is( $answer->{code}, 'unsupported', $options ) or diag explain $answer;
    }
    my $nobody = 'mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=300';
    is( open_at( $child, $nobody, 'x' )->{code}, 'connect', 'nobody is there' );
    is( finish( $child ),                        0,         'the end of stdin ends it' );
};

subtest 'SIGTERM and the end of stdin in a turn' => sub {
    for my $end ( 'SIGTERM', 'stdin' ) {
        my $child  = start();
        my $answer = prepare(
            $child,
            [ { name => 'noop', kind => 'noop' } ],
            [ [ 0, 0 ], [ 60_000_000_000, 0 ] ],
            [], pacing => { mode => 'rate' },
        );
        is( $answer->{type}, 'ready' ) or diag explain $answer;
        tell_it( $child, 'turn', until_ns => $FOREVER_NS );
        sleep 0.3;
        kill TERM => $child->{pid} if $end eq 'SIGTERM';
        waitpid $child->{pid}, 0 if $end eq 'SIGTERM';
        is( $end eq 'SIGTERM' ? $? : finish( $child ), 0, $end );
        is_deeply( outcomes(), [0], 'samples are written' ) if $end eq 'SIGTERM';
    }
};

subtest 'on a server' => sub {
    plan skip_all => 'MDYN_URI names no server' if !$uri;
    my $child    = start();
    my $name     = "mdyn_perl_$$";
    my $database = MongoDB->connect( $uri )->get_database( $name );
    is( open_at( $child, $uri, $name )->{type}, 'opened' );
    my $count = {
        name            => 'count',
        kind            => 'command',
        read_concern    => 'local',
        read_preference => 'nearest',
        command         => { pool => 0, document => 0, stamps => [] },
    };
    my $wrong = { %{$count}, read_concern => 'nonsense' };
    prepare( $child, [ $count, $wrong ], [ [ 0, 0 ], [ 0, 1 ] ], [ { count => 'items' } ] );
    ask( $child, 'turn', until_ns => $FOREVER_NS );
    is_deeply( outcomes(), [ 0, 2 ], 'concerns of commands are fields' );
    is( finish( $child ), 0 );

    my $me     = start();
    my $target = 'mongodb://me:hush@' . $uri =~ s{\Amongodb://(?:[^@]*@)?}{}r;
    is( open_at( $me, $target, $name )->{code}, 'auth', 'refused credentials' );
    finish( $me );
    $database->drop;
};

done_testing;
