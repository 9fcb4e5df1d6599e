#!/usr/bin/perl

# The least code with which a Perl program does the adapter's work, for comparison with it.
#
# loop.pl URI DATABASE COLLECTION OPERATION WORKERS POOL [NUMBER]. Each line of its input is the
# length of a turn in ms; it answers with the operations done, the ns they took and when they ended.
# It is one worker: the one with NUMBER, from 0, of WORKERS programs.

use 5.014;
use strict;
use warnings;

use BSON::Types qw(bson_bytes bson_oid);
use BSON;
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

my ( $uri, $database, $collection, $operation, $workers, $path, $key ) = ( @ARGV, 0 );
my $items = MongoDB->connect( $uri )->get_database( $database )->get_collection( $collection );
my @pool  = pool( $path );

# An application would have made each; the rest of a document is copied with it.
my @binaries = grep { ref $pool[0]{$_} eq 'BSON::Bytes' } keys %{ $pool[0] };
my ( $sum, @starts, @ends ) = ( 0 );
my %turns = (
    insert_one => sub {
        my %document = %{ $pool[ $key % @pool ] };
        $document{$_}     = bson_bytes( $document{$_}->data, $document{$_}->subtype ) for @binaries;
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
local $| = 1;
while ( my $line = readline *STDIN ) {
    @starts = @ends = ();
    my $began_s = clock_gettime( CLOCK_MONOTONIC );
    my $until_s = $began_s + $line / 1_000;
    do {
        $call->();
        push @ends, clock_gettime( CLOCK_MONOTONIC );
    } while ( $ends[-1] < $until_s );
    printf "%d %d %d\n", scalar @ends, ( $ends[-1] - $began_s ) * 1e9, $ends[-1] * 1e9;
}
