package Documents;

# What operations are given: copies of the pools' documents, and their stamps. SPEC sections 4 to 6.
# An item is a hash of the values that stamps take.

use 5.014;
use strict;
use warnings;

use Time::HiRes qw(time);

use Clock;
use Dialect;

my %SOURCES = (
    made_ns => sub { $_[0]{made_ns} // Clock::now_ns() },
    time_ms => sub { $_[0]{time_ms} // ( 0 | time * 1_000 ) },
);

# The number becomes a float, or stays an integer: the driver encodes accordingly.
my %FORMS = (
    int32  => undef,
    int64  => undef,
    double => sub { unpack 'd', pack 'd', $_[0] },
    date   => \&Dialect::date,
);

sub read_file {
    my ( $path ) = @_;
    open my $file, '<:raw', $path or die "$path: $!\n";
    local $/ = undef;
    my $bytes = <$file>;
    return $bytes // q{};
}

# The documents of a pool, in the order of the file.
sub split_pool {
    my ( $bytes ) = @_;
    my @documents;
    my $at = 0;
    while ( $at < length $bytes ) {
        my $length = unpack 'V', substr $bytes, $at, 4;
        push @documents, substr $bytes, $at, $length;
        $at += $length;
    }
    return @documents;
}

sub render {
    my ( $message ) = @_;
    my %item = map { $_ => 0 } qw(document key sequence producer shift made_ns time_ms);
    %item       = ( %item, %{ $message->{input} } );
    $item{guid} = pack 'H32', $message->{input}{guid} // '0' x 32;
    my $template = Dialect::decode( pack 'H*', $message->{template} );
    my $build    = builder( [ copier( $template ) ], $message->{stamps} );
    return Dialect::encode( $build->( \%item ) );
}

# A function that makes a fresh deep copy. Perl copies strings and numbers with their container; of
# the driver's objects only the binary ones are made anew.
sub copier {
    my ( $value ) = @_;
    my $kind = ref $value;
    return array_copier( $value ) if $kind eq 'ARRAY';
    return sub { Dialect::copy_binary( $value ) }
        if $kind ne 'HASH';
    my %nested = map { is_nested( $value->{$_} ) ? ( $_ => copier( $value->{$_} ) ) : () }
        keys %{$value};
    if ( my $ordered = tied %{$value} ) {
        my @names = keys %{$value};
        return sub {
            return Dialect::ordered( map { $_ => $nested{$_} ? $nested{$_}->() : $value->{$_} }
                    @names );
        };
    }
    return sub { return { %{$value} } }
        if !%nested;
    return sub {
        my %copy = %{$value};
        $copy{$_} = $nested{$_}->() for keys %nested;
        return \%copy;
    };
}

sub array_copier {
    my ( $value ) = @_;
    my @nested =
        map { is_nested( $value->[$_] ) ? [ $_, copier( $value->[$_] ) ] : () } 0 .. $#{$value};
    return sub {
        my @copy = @{$value};
        $copy[ $_->[0] ] = $_->[1]->() for @nested;
        return \@copy;
    };
}

sub is_nested {
    my ( $value ) = @_;
    my $kind = ref $value;
    return $kind eq 'HASH' || $kind eq 'ARRAY' || Dialect::is_binary( $value );
}

# A function that makes an item's document from a pool; a template is a pool of one.
sub builder {
    my ( $copiers, $stamps ) = @_;
    my @stamps = map { [ $_->{path}, conversion( $_ ) ] } @{ $stamps // [] };
    return sub {
        my ( $item ) = @_;
        my $document = $copiers->[ $item->{document} % @{$copiers} ]->();
        for ( @stamps ) {
            my ( $path, $source, $convert ) = @{$_};
            my $value = $convert->( ref $source ? $source->( $item ) : $item->{$source} );
            if ( @{$path} == 1 ) { $document->{ $path->[0] } = $value }
            else                 { put( $document, $value, @{$path} ) }
        }
        return $document;
    };
}

sub put {
    my ( $node, $value, @path ) = @_;
    my $last = pop @path;
    for my $name ( @path ) {
        $node = ref $node eq 'ARRAY' ? $node->[$name] : $node->{$name};
    }
    if   ( ref $node eq 'ARRAY' ) { $node->[$last] = $value }
    else                          { $node->{$last} = $value }
    return;
}

# Where an item has a stamp's value (a name or a function), and a function that converts it.
sub conversion {
    my ( $stamp ) = @_;
    my ( $as, $prefix, $add ) = ( $stamp->{as}, $stamp->{prefix} // q{}, $stamp->{add} // 0 );
    return ( \&guid, \&Dialect::guid )
        if $as eq 'guid';
    return ( \&guid, sub { return join q{-}, unpack 'H8H4H4H4H12', $_[0] } )
        if $as eq 'guid_string';
    my $source = $SOURCES{ $stamp->{from} } // $stamp->{from};
    if ( $as eq 'string' ) {
        my $width = $stamp->{width} // 0;
        return ( $source, sub { sprintf '%s%0*d', $prefix, $width, $_[0] + $add } );
    }
    if ( $as eq 'objectid' ) {
        my $head = pack 'H8', $prefix;
        return ( $source, sub { Dialect::objectid( $head . pack 'Q>', $_[0] + $add ) } );
    }
    Refusal::throw( 'unsupported', "stamp as $as" ) if !exists $FORMS{$as};
    my $form = $FORMS{$as};
    return ( $source, $form ? sub { $form->( $_[0] + $add ) } : sub { $_[0] + $add } );
}

# The record's guid, its first bytes XORed with the shift's low half, its last with the high.
sub guid {
    my ( $item ) = @_;
    my ( $low, $middle, $high ) = unpack 'Va8V', $item->{guid};
    my $shift = $item->{shift};
    return pack 'Va8V', $low ^ ( $shift & 0xFFFF_FFFF ), $middle, $high ^ ( $shift >> 32 );
}

1;
