#!/usr/bin/perl

# The least code with which a Perl program does the adapter's work, for comparison with it.
#
# loop.pl URI DATABASE COLLECTION OPERATION WORKERS POOL. Each line of its input is the length of a
# turn in ms; it answers with the operations done and the ns they took. Workers are processes.

use 5.014;
use strict;
use warnings;

use BSON::Types qw(bson_bytes bson_oid);
use BSON;
use IO::Handle;
use MongoDB;
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC);

my $LOADED = 20_000;    # documents that there are to be found: keys 0 and up
my $STRIDE = 7_919;     # coprime to LOADED: no cache knows the order
my $PREFIX = pack 'H8', '6955b900';
my $codec  = BSON->new;

sub oid {
    my ( $key ) = @_;
    return bson_oid( $PREFIX . pack 'Q>', $key );
}

sub pool {
    my ( $path ) = @_;
    open my $file, '<:raw', $path or die "$path: $!\n";
    my @pool;
    while ( read $file, my $head, 4 ) {
        read $file, my $rest, unpack( 'V', $head ) - 4;
        push @pool, $codec->decode_one( $head . $rest );
    }
    close $file or die "$path: $!\n";
    return @pool;
}

my ( $uri, $database, $collection, $operation, $workers, $path ) = @ARGV;

# One worker's turns: it answers each with operations and the end of its last one.
sub work {
    my ( $number, $in, $out ) = @_;
    my $items = MongoDB->connect( $uri )->get_database( $database )->get_collection( $collection );
    my @pool  = pool( $path );

    # An application would have made each; the rest of a document is copied with it.
    my @binaries = grep { ref $pool[0]{$_} eq 'BSON::Bytes' } keys %{ $pool[0] };
    my ( $key, $sum, @starts, @ends ) = ( $number, 0 );
    my %turns = (
        insert_one => sub {
            my %document = %{ $pool[ $key % @pool ] };
            $document{$_} = bson_bytes( $document{$_}->data, $document{$_}->subtype ) for @binaries;
            $document{_id}    = oid( $key );
            $document{number} = $key;
            $key += $workers;
            push @starts, clock_gettime( CLOCK_MONOTONIC );
            $items->insert_one( \%document );
            return;
        },
        find_one => sub {
            $key = ( $key + $STRIDE ) % $LOADED;
            my $wanted = { _id => oid( $key ) };
            push @starts, clock_gettime( CLOCK_MONOTONIC );
            $sum += $items->find_one( $wanted )->{number};
            return;
        },
    );
    my $call = $turns{$operation};
    while ( my $line = <$in> ) {
        @starts = @ends = ();
        my $until_s = clock_gettime( CLOCK_MONOTONIC ) + $line / 1_000;
        do {
            $call->();
            push @ends, clock_gettime( CLOCK_MONOTONIC );
        } while ( $ends[-1] < $until_s );
        printf {$out} "%d %.9f\n", scalar @ends, $ends[-1];
    }
    return;
}

my @children;
for my $number ( 0 .. $workers - 1 ) {
    pipe my $in,   my $to  or die "pipe: $!\n";
    pipe my $from, my $out or die "pipe: $!\n";
    $_->autoflush for $to, $out;
    my $pid = fork // die "fork: $!\n";
    if ( !$pid ) {
        close $_ or die "close: $!\n" for $to, $from, map { @{$_} } @children;
        work( $number, $in, $out );
        exit;
    }
    close $_ or die "close: $!\n" for $in, $out;
    push @children, [ $to, $from ];
}
STDOUT->autoflush;
while ( my $line = readline *STDIN ) {
    my $began_s = clock_gettime( CLOCK_MONOTONIC );
    print { $_->[0] } $line for @children;
    my ( $operations, $ended_s ) = ( 0, 0 );
    for my $child ( @children ) {
        my ( $done, $end_s ) = split q{ }, readline $child->[1];
        $operations += $done;
        $ended_s = $end_s if $end_s > $ended_s;
    }
    printf "%d %d\n", $operations, ( $ended_s - $began_s ) * 1e9;
}
