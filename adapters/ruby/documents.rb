# frozen_string_literal: true

# What operations are given: copies of the pools' documents, and their stamps. SPEC sections 4 to 6.

# CLOCK_MONOTONIC less the core's epoch.
class Clock
  def initialize(epoch_ns)
    @epoch_ns = epoch_ns
  end

  def now_ns
    Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond) - @epoch_ns
  end
end

# The schedule file, kept as bytes.
class Schedule
  INTENDED, KEY, DOCUMENT, COUNT, OPERATION, FLAGS, GUID = *0..6
  HEADER_BYTES = 32

  attr_reader :length, :lap_ns

  def initialize(path)
    @bytes = File.binread(path)
    magic, @record_bytes, @records, slices, _parts, @lap_ns = @bytes.unpack('a8L<4Q<')
    raise "#{path} is no schedule" unless magic == 'MDYNSCH2'

    @length = @records / slices
  end

  def record(place)
    @bytes.byteslice(HEADER_BYTES + (place * @record_bytes), @record_bytes).unpack('Q<2L<2C2x6a16')
  end

  # A part of a bulk; parts follow the records.
  def part(number)
    record(@records + number)
  end
end

# The values that stamps take. A worker has one, and moves it from document to document.
class Item
  attr_reader :key, :sequence, :producer, :lap

  def initialize(producer, clock = nil)
    @producer = producer
    @clock = clock
  end

  def begin(key, guid, sequence, lap, lap_shift)
    @first_key = key
    @guid = guid
    @first_sequence = sequence
    @lap = lap
    @lap_shift = lap_shift
    move(0, 0)
  end

  def move(number, shift)
    @shift = @lap_shift + shift
    @key = @first_key + @shift
    @sequence = @first_sequence + number
  end

  def guid
    low, middle, high = @guid.unpack('L<a8L<')
    [low ^ (@shift & 0xFFFFFFFF), middle, high ^ (@shift >> 32)].pack('L<a8L<')
  end

  def guid_string
    guid.unpack('H8H4H4H4H12').join('-')
  end

  def made_ns
    @clock.now_ns
  end

  def time_ms
    Process.clock_gettime(Process::CLOCK_REALTIME, :millisecond)
  end
end

# Functions that copy documents and stamp them; they are made at `prepare`.
module Documents
  # An item whose times are given.
  class Rendered < Item
    attr_reader :made_ns, :time_ms

    def initialize(given)
      super(given.fetch('producer', 0))
      @made_ns, @time_ms = %w[made_ns time_ms].map { |name| given.fetch(name, 0) }
      guid = [given.fetch('guid', '0' * 32)].pack('H*')
      self.begin(given.fetch('key', 0), guid, given.fetch('sequence', 0), 0,
                 given.fetch('shift', 0))
    end
  end

  module_function

  def render(message)
    pool = Dialect.decode_all([message['template']].pack('H*')).map { |each| copier(each) }
    document = builder(pool, message['stamps']).call(0, Rendered.new(message['input']))
    Dialect.encode(document)
  end

  # Values as users write them: hashes, not what the driver decodes to. Frozen values can be shared.
  def plain(value)
    case value
    when Hash then value.transform_values { |inner| plain(inner) }.freeze
    when Array then value.map { |inner| plain(inner) }.freeze
    when String then value.frozen? ? value : value.dup.freeze
    else value
    end
  end

  # A function that makes a fresh deep copy of a plain value. It finds what is mutable once.
  def copier(value)
    return -> { Dialect.copy_binary(value) } if value.is_a?(BSON::Binary)

    steps = value.is_a?(Hash) ? value : value.each_index.zip(value)
    nested = steps.filter_map do |step, inner|
      [step, copier(inner)] if [Hash, Array, BSON::Binary].any? { |type| inner.is_a?(type) }
    end
    return -> { value.dup } if nested.empty?

    lambda do
      fresh = value.dup
      nested.each { |step, copy| fresh[step] = copy.call }
      fresh
    end
  end

  # A function that makes the document of that number in a pool; a template is a pool of one.
  def builder(copiers, stamps)
    applied = stamps.map { |stamp| stamper(stamp) }
    lambda do |number, item|
      document = copiers[number % copiers.size].call
      applied.each { |stamp| stamp.call(document, item) }
      document
    end
  end

  def stamper(stamp)
    *parents, last = stamp['path']
    value = stamp_value(stamp)
    return ->(document, item) { document[last] = value.call(item) } if parents.empty?

    lambda do |document, item|
      node = document
      parents.each { |name| node = node[step(node, name)] }
      node[step(node, last)] = value.call(item)
    end
  end

  def step(node, name)
    node.is_a?(Array) ? name.to_i : name
  end

  def stamp_value(stamp)
    case stamp['as']
    when 'guid' then ->(item) { Dialect.guid(item.guid) }
    when 'guid_string' then lambda(&:guid_string)
    else converted(stamp, number(stamp['from'].to_sym, stamp.fetch('add', 0)))
    end
  end

  def number(from, add)
    return from.to_proc if add.zero?

    ->(item) { item.public_send(from) + add }
  end

  def converted(stamp, number)
    prefix = stamp['prefix']
    case stamp['as']
    when 'int32', 'int64' then number
    when 'double' then ->(item) { number.call(item).to_f }
    when 'date' then ->(item) { Time.at(0, number.call(item), :millisecond).utc }
    when 'string'
      width = stamp['width'].to_i
      ->(item) { "#{prefix}#{number.call(item).to_s.rjust(width, '0')}" }
    when 'objectid'
      head = [prefix].pack('H8')
      ->(item) { Dialect.objectid(head + [number.call(item)].pack('Q>')) }
    else raise Refusal.new('unsupported', "stamp as #{stamp['as']}")
    end
  end
end

# For each operation, a function of a record and its item that makes what the call is given.
class Makers
  def initialize(message, schedule)
    @schedule = schedule
    @lap_step, @item_step, @operations = message.values_at('lap_step', 'item_step', 'operations')
    @pools = message['pools'].map do |path|
      Dialect.decode_all(File.binread(path)).map { |document| Documents.copier(document) }
    end
    @operations.each { |spec| name_options(spec) }
  end

  def begin(item, record, lap, sequence)
    shift = (record[Schedule::FLAGS] & 1) * lap * @lap_step
    item.begin(record[Schedule::KEY], record[Schedule::GUID], sequence, lap, shift)
  end

  def maker(spec)
    case spec['kind']
    when 'bulk_write'
      return parts_maker(Operation::BULK_KINDS) { |part| Dialect.bulk_part(part) }
    when 'transaction'
      return parts_maker(Operation::TRANSACTION_KINDS) { |_, i| ->(*given) { [i, given] } }
    end
    return batch_maker(spec) if spec['documents'] && %w[insert_many noop].include?(spec['kind'])

    builders = Dialect.kinds[spec['kind']].select { |name| spec[name] }
                      .map { |name| builder(spec, name) }
    make = lambda do |record, item|
      builders.map { |build| build.call(record[Schedule::DOCUMENT], item) }
    end
    return make unless spec['kind'] == 'find'

    ->(record, item) { [record[Schedule::COUNT], *make.call(record, item)] }
  end

  private

  # Options that name a document become that document, the same for all operations.
  def name_options(spec)
    %w[sort hint collation].each do |option|
      given = spec[option]
      spec[option] = @pools[given['pool']][given['document']].call if given.is_a?(Hash)
    end
  end

  def builder(spec, name)
    given = spec[name]
    pool = @pools[given['pool']]
    pool = [pool[given['document']]] unless name == 'documents'
    Documents.builder(pool, given['stamps'] || [])
  end

  def batch_maker(spec)
    build = builder(spec, 'documents')
    one = lambda do |record, item, j|
      item.move(j, j * @item_step)
      build.call(record[Schedule::DOCUMENT] + j, item)
    end
    if spec['lazy']
      lambda do |record, item|
        [Enumerator.new do |given|
          record[Schedule::COUNT].times { |j| given << one.call(record, item, j) }
        end]
      end
    else
      ->(record, item) { [Array.new(record[Schedule::COUNT]) { |j| one.call(record, item, j) }] }
    end
  end

  # The block makes what turns a part's documents into the call's.
  def parts_maker(kinds)
    makers = @operations.each_with_index.map do |spec, number|
      [maker(spec), yield(spec, number)] if kinds.include?(spec['kind'])
    end
    lambda do |record, item|
      lap = item.lap
      sequence = item.sequence
      requests = Array.new(record[Schedule::COUNT]) do |j|
        part = @schedule.part(record[Schedule::DOCUMENT] + j)
        make, request = makers[part[Schedule::OPERATION]]
        self.begin(item, part, lap, sequence + j)
        request.call(*make.call(part, item))
      end
      [requests]
    end
  end
end
