package Dialect;

# The dialect of MongoDB 2.x, as its users write it: calls, options, types and errors.

use 5.014;
use strict;
use warnings;

use BSON::Types qw(bson_bytes bson_oid);
use BSON;
use JSON::PP   ();
use List::Util qw(sum0);
use MongoDB;
use Scalar::Util qw(blessed);
use Tie::IxHash;

our ( $TRUE, $FALSE ) = ( JSON::PP::true, JSON::PP::false );

# What each call is given, in its order.
our %KINDS = (
    noop                => ['documents'],
    insert_one          => ['documents'],
    insert_many         => ['documents'],
    find_one            => [ 'filter', 'projection' ],
    find                => [ 'filter', 'projection' ],
    update_one          => [ 'filter', 'update' ],
    delete_one          => ['filter'],
    count               => ['filter'],
    update_many         => [ 'filter', 'update' ],
    delete_many         => ['filter'],
    distinct            => ['filter'],
    estimated_count     => [],
    replace_one         => [ 'filter', 'documents' ],
    find_one_and_update => [ 'filter', 'update' ],
    read_modify_write   => [ 'filter', 'update' ],
    bulk_write          => [],
    transaction         => [],
    aggregate           => ['pipeline'],
    command             => ['command'],
    drop                => [],
);
delete $KINDS{transaction} if !MongoDB::ClientSession->can( 'with_transaction' );    # 2.2

# What bulks and transactions are made of.
our %PARTS =
    map { $_ => 1 } qw(insert_one update_one replace_one delete_one find_one find_one_and_update);

my @EXTRAS = qw(write_concern read_concern read_preference command_concerns unacknowledged
    unordered clients sort hint collation max_time);

# Options of reads, and the driver's names of them.
our %OPTIONS = (
    sort        => 'sort',
    skip        => 'skip',
    hint        => 'hint',
    collation   => 'collation',
    max_time_ms => 'maxTimeMS',
);
my $codec   = BSON->new;
my $ordered = BSON->new( ordered => 1 );

sub driver {
    return {
        name    => 'MongoDB',
        version => MongoDB->VERSION =~ s/\Av//r,
        native  => $INC{'BSON/XS.pm'} ? $TRUE : $FALSE,
    };
}

# A hash has no order, and a number that fits is sent as int32.
sub capabilities {
    return {
        operations => [ sort keys %KINDS ],
        extras     => \@EXTRAS,
        alters     => [ 'field_order', 'int64' ],
        uri        => 'standard',
    };
}

sub decode         { return $codec->decode_one( $_[0] ) }
sub decode_ordered { return $ordered->decode_one( $_[0] ) }
sub encode         { return $codec->encode_one( $_[0] ) }
sub objectid       { return bson_oid( $_[0] ) }
sub guid           { return bson_bytes( $_[0], 4 ) }
sub date           { return BSON::Time->new( value => $_[0] ) }
sub is_binary      { return ref $_[0] eq 'BSON::Bytes' }
sub copy_binary    { return bson_bytes( $_[0]->data, $_[0]->subtype ) }

sub ordered {
    my ( @pairs ) = @_;
    tie my %hash, 'Tie::IxHash', @pairs;
    return \%hash;
}

# The driver warns of an option that it ignores, and silently accepts `connect`.
sub connect_client {
    my ( $entry ) = @_;
    my @warnings;
    my $client = eval {
        local $SIG{__WARN__} = sub { push @warnings, @_ };
        MongoDB->connect( $entry->{uri} );
    };
    push @warnings, $@                   if !$client;
    push @warnings, 'connect is ignored' if grep { lc eq 'connect' } keys %{ $entry->{options} };
    Refusal::throw( 'unsupported', "@warnings" ) if @warnings;
    eval { $client->get_database( 'admin' )->run_command( [ ping => 1 ] ) } or refuse( $@ );
    return $client;
}

sub refuse {
    my ( $fault ) = @_;
    my %codes = (
        AuthError => 'auth',
        map( { $_ => 'connect' } qw(SelectionError ConnectionError TimeoutError) ),
        map( { $_ => 'unsupported' } qw(ConfigurationError UsageError) ),
    );
    my ( $class ) = grep { blessed $fault && $fault->isa( "MongoDB::$_" ) } sort keys %codes;
    return Refusal::throw( $class ? $codes{$class} : 'internal', "$fault" );
}

sub opened {
    my ( $client ) = @_;
    my %concern = @{ $client->write_concern->as_args };
    return {
        acknowledged => $client->write_concern->is_acknowledged ? $TRUE : $FALSE,
        resolved     => {
            write_concern   => $concern{writeConcern} // {},
            read_concern    => $client->read_concern->level,
            read_preference => $client->read_preference->mode,
            compressors     => $client->compressors,
            retry_writes    => $client->retry_writes ? $TRUE : $FALSE,
            retry_reads     => $client->retry_reads  ? $TRUE : $FALSE,
            tls             => $client->ssl          ? $TRUE : $FALSE,
            commands        => { count => 'aggregate' },    # count_documents
        },
    };
}

# The sample's outcome; the server's code or 0, its name or the driver's class; a message.
sub failure {
    my ( $fault ) = @_;
    return ( 2, 0, 'Error',       "$fault" )          if !blessed $fault;
    return ( 1, 0, 'WrongAnswer', $fault->{message} ) if $fault->isa( 'WrongAnswer' );
    my $name = ref( $fault ) =~ s/\AMongoDB:://r;
    return ( 2, 0, $name, "$fault" ) if !$fault->isa( 'MongoDB::Error' );
    my $result = $fault->can( 'result' ) ? $fault->result : undef;
    my $code   = 0;
    if ( $result && $result->can( 'write_errors' ) ) {
        my ( $first ) = ( @{ $result->write_errors }, @{ $result->write_concern_errors } );
        $code = $first->{code} // 0;
    }
    elsif ( $result ) {
        $code = $result->output->{code}     // $fault->code;
        $name = $result->output->{codeName} // $name;
    }
    $code = 50 if $fault->isa( 'MongoDB::ExecutionTimeout' );
    my $waited = $fault->isa( 'MongoDB::TimeoutError' ) || $fault->isa( 'MongoDB::SelectionError' );
    return ( $waited || $code == 50 || $code == 262 ? 3 : 2, $code, $name, $fault->message );
}

# Orders and the keys of an index are lists, whose order is kept.
sub option {
    my ( $name, $document ) = @_;
    return $name eq 'collation' ? { %{$document} } : [ %{$document} ];
}

sub options_of {
    my ( $spec ) = @_;
    return map { defined $spec->{$_} ? ( $OPTIONS{$_} => $spec->{$_} ) : () } keys %OPTIONS;
}

# A part of a bulk.
sub part {
    my ( $spec, @given ) = @_;
    push @given, { upsert        => 1 } if $spec->{upsert};
    return       { $spec->{kind} => \@given };
}

# The driver writes without an answer by OP_INSERT and similar, and newer servers then close the
# connection.
my $WIRE_OF_5_1 = 14;

sub refuse_unanswered {
    my ( $db ) = @_;
    my $newest = $db->run_command( [ isMaster => 1 ] )->{maxWireVersion} // 0;
    return if $newest < $WIRE_OF_5_1;
    return Refusal::throw( 'unsupported', 'w: 0 is sent by messages that MongoDB 5.1 has dropped' );
}

# An operation's call. It returns the documents read and their sum, or nothing, and dies of an
# error.
sub bind_call {
    my ( $spec, $client, $database ) = @_;
    my ( $kind, $field ) = @{$spec}{qw(kind sum_field)};
    return sub { return total( $field, @{ $_[0] // [] } ) }
        if $kind eq 'noop';
    my $db = $client->get_database( $database );
    return command( $spec, $db ) if $kind eq 'command';
    my %concerns = map { $spec->{$_} ? ( $_ => $spec->{$_} ) : () }
        qw(read_preference read_concern write_concern);
    $concerns{read_concern} = { level => $spec->{read_concern} } if $spec->{read_concern};
    my $items = $db->get_collection( $spec->{collection}, \%concerns );
    refuse_unanswered( $db ) if !$items->write_concern->is_acknowledged;
    my $upsert  = { $spec->{upsert} ? ( upsert => 1 ) : () };
    my %whole   = ( ordered => $spec->{ordered} // 1 );
    my %batch   = ( $spec->{batch_size} ? ( batchSize => $spec->{batch_size} ) : () );
    my %options = options_of( $spec );
    my $find    = sub { one( $field, $items->find_one( $_[0], $_[1], {%options} ) ) };
    my $update  = sub { matched( $items->update_one( @_, $upsert ) ) };
    my %calls   = (
        insert_one  => sub { $items->insert_one( $_[0] );            return },
        insert_many => sub { $items->insert_many( $_[0], {%whole} ); return },
        find_one    => $find,
        find        => sub {
            my ( $limit, $filter, $projection ) = @_;
            my %own = ( %batch, %options, limit => $limit );
            $own{projection} = $projection if $projection;
            return drained( $field, $items->find( $filter, \%own )->result );
        },
        update_one  => $update,
        replace_one => sub { matched( $items->replace_one( @_, $upsert ) ) },
        delete_one  => sub {
            my $result = $items->delete_one( $_[0] );
            required( $result->deleted_count, 1 ) if $result->acknowledged;
            return;
        },
        count               => sub { return ( $items->count_documents( $_[0] ), 0 ) },
        estimated_count     => sub { return ( $items->estimated_document_count, 0 ) },
        find_one_and_update => sub { one( $field, $items->find_one_and_update( @_, {%options} ) ) },
        update_many         => sub {
            my $result = $items->update_many( @_ );
            return $result->acknowledged ? ( $result->matched_count, 0 ) : ();
        },
        delete_many => sub {
            my $result = $items->delete_many( $_[0] );
            return $result->acknowledged ? ( $result->deleted_count, 0 ) : ();
        },
        distinct => sub {
            my @values = $items->distinct( $spec->{field}, $_[0] )->all;
            return ( scalar @values, defined $field ? sum0( @values ) : 0 );
        },
        read_modify_write => sub {
            my ( $filter, $change ) = @_;
            my @found = $find->( $filter );
            $update->( $filter, $change );
            return @found;
        },
        bulk_write => sub {
            my $result = $items->bulk_write( $_[0], {%whole} );
            return if !$result->acknowledged;
            my $done = 0;
            $done += $result->$_ for qw(inserted_count matched_count upserted_count deleted_count);
            required( $done, scalar @{ $_[0] } );
            return;
        },
        aggregate => sub { return drained( $field, $items->aggregate( $_[0]{pipeline} ) ) },
        drop      => sub { $items->drop; return },
    );
    return $calls{$kind};
}

# A command has its concerns as its own fields.
sub command {
    my ( $spec, $db ) = @_;
    my @fields = (
        $spec->{write_concern} ? ( writeConcern => $spec->{write_concern} )             : (),
        $spec->{read_concern}  ? ( readConcern  => { level => $spec->{read_concern} } ) : (),
    );
    my $preference = $spec->{read_preference};
    return sub {
        my $command = tied %{ $_[0] };
        $command->Push( @fields );
        $db->run_command( $command, $preference );
        return;
    };
}

sub total {
    my ( $field, @documents ) = @_;
    my $sum = 0;
    if ( defined $field ) { $sum += $_->{$field} // 0 for @documents }
    return ( scalar @documents, $sum );
}

sub drained {
    my ( $field, $result ) = @_;
    my ( $read,  $sum )    = ( 0, 0 );
    while ( my $document = $result->next ) {
        $read++;
        $sum += $document->{$field} // 0 if defined $field;
    }
    return ( $read, $sum );
}

sub one {
    my ( $field, $document ) = @_;
    WrongAnswer::throw( 'no document was found' ) if !$document;
    return ( 1, defined $field ? $document->{$field} // 0 : 0 );
}

sub matched {
    my ( $result ) = @_;
    return if !$result->acknowledged;
    required( $result->matched_count + ( defined $result->upserted_id ? 1 : 0 ), 1 );
    return;
}

sub required {
    my ( $count, $asked ) = @_;
    WrongAnswer::throw( "$count done of $asked" ) if $count != $asked;
    return;
}

# A message that is answered by an error of this code.
package Refusal {

    sub throw {
        my ( $code, $message ) = @_;
        die bless { code => $code, message => $message }, __PACKAGE__;
    }
}

# The server answered, but not right by the contract.
package WrongAnswer {

    sub throw {
        my ( $message ) = @_;
        die bless { message => $message }, __PACKAGE__;
    }
}

1;
