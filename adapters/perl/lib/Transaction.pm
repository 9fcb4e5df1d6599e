package Transaction;

# Transactions, by the driver's own loop. SPEC section 5.

use 5.014;
use strict;
use warnings;

use Dialect;

# Each call of a part is given its collection, its operation's sum field, options and documents.
my %CALLS = (
    insert_one =>
        sub { my ( $items, undef, $in, @given ) = @_; $items->insert_one( @given, $in ); return },
    find_one => sub {
        my ( $items, $field, $in, $filter, $projection ) = @_;
        return Dialect::one( $field, $items->find_one( $filter, $projection, $in ) );
    },
    update_one => sub {
        my ( $items, undef, $in, @given ) = @_;
        return Dialect::matched( $items->update_one( @given, $in ) );
    },
    replace_one => sub {
        my ( $items, undef, $in, @given ) = @_;
        return Dialect::matched( $items->replace_one( @given, $in ) );
    },
    delete_one => sub {
        my ( $items, undef, $in, @given ) = @_;
        return Dialect::required( $items->delete_one( @given, $in )->deleted_count, 1 );
    },
    find_one_and_update => sub {
        my ( $items, $field, $in, @given ) = @_;
        return Dialect::one( $field, $items->find_one_and_update( @given, $in ) );
    },
);

# A call, which is given the numbers of its parts and what they are given. It counts the attempts
# after the first.
sub bind_call {
    my ( $spec, $client, $database, $operations, $retries ) = @_;
    my @parts =
        map { $CALLS{ $_->{kind} } ? bind_part( $_, $client, $database ) : undef } @{$operations};
    my %concerns;
    $concerns{writeConcern} = $spec->{write_concern}             if $spec->{write_concern};
    $concerns{readConcern}  = { level => $spec->{read_concern} } if $spec->{read_concern};
    return sub {
        my ( $given ) = @_;
        my $session   = $client->start_session;
        my $attempts  = 0;
        my $totals    = $session->with_transaction(
            sub {
                ${$retries}++ if $attempts++;
                return attempt( $session, \@parts, $given );
            },
            \%concerns
        );
        $session->end_session;
        return @{$totals};
    };
}

sub attempt {
    my ( $session, $parts, $given ) = @_;
    my ( $documents, $sum ) = ( 0, 0 );
    for ( @{$given} ) {
        my ( $number, @own )   = @{$_};
        my ( $read,   $added ) = $parts->[$number]->( $session, @own );
        $documents += $read  // 0;
        $sum       += $added // 0;
    }
    return [ $documents, $sum ];
}

sub bind_part {
    my ( $spec, $client, $database ) = @_;
    my ( $call, $field ) = ( $CALLS{ $spec->{kind} }, $spec->{sum_field} );
    my $items   = $client->get_database( $database )->get_collection( $spec->{collection} );
    my %options = Dialect::options_of( $spec );
    $options{upsert} = 1 if $spec->{upsert};
    return sub {
        my ( $session, @given ) = @_;
        return $call->( $items, $field, { %options, session => $session }, @given );
    };
}

1;
