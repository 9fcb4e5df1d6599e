# frozen_string_literal: true

# The dialect of mongo 1.x, as its users wrote it. Mongo::MongoClient came with 1.8; before it there
# was Mongo::Connection, whose writes are not acknowledged.

# How users of mongo 1.x wrote things.
module Dialect
  CLIENT = Mongo.const_get(Mongo.const_defined?(:MongoClient) ? :MongoClient : :Connection)
  TIMEOUT_CODES = [50, 262].freeze
  TIMEOUTS = %i[OperationTimeout ConnectionTimeoutError ExecutionTimeout]
             .filter_map { |name| Mongo.const_get(name) if Mongo.const_defined?(name) }.freeze

  module_function

  def driver
    { name: 'mongo', version: Gem.loaded_specs['mongo']&.version.to_s,
      native: BSON::BSON_CODER.name == 'BSON::BSON_C' }
  end

  # No consumer: an await cannot be limited to 100 ms.
  def capabilities
    { operations: kinds.keys, alters: ['int64'], uri: 'plain', consumer_ns: nil,
      extras: %w[write_concern read_preference unacknowledged unordered clients sort hint] }
  end

  # Today's servers refuse the commands of its bulks, and its update that has `multi` as a field of
  # the command.
  def kinds
    without = %w[bulk_write update_many transaction]
    without << 'aggregate' unless Mongo::Collection.method_defined?(:aggregate) # 1.7
    Operation::KINDS.reject { |kind, _| without.include?(kind) }
  end

  def decode_all(bytes)
    documents = []
    until bytes.empty?
      length = bytes.unpack1('l<')
      documents << Documents.plain(BSON.deserialize(bytes.byteslice(0, length)))
      bytes = bytes.byteslice(length..)
    end
    documents
  end

  def encode(document)
    BSON.serialize(document).to_s
  end

  def objectid(bytes)
    BSON::ObjectId.new(bytes.unpack('C12'))
  end

  def guid(bytes)
    BSON::Binary.new(bytes, 4)
  end

  def copy_binary(value)
    BSON::Binary.new(value.to_s.dup, value.subtype)
  end

  def connect(entry)
    # The driver knows it only by this name.
    uri = entry['uri'].sub(/(?<=[?&])maxPoolSize(?==)/i, 'pool_size')
    wait_ms = entry['options']['serverSelectionTimeoutMS']
    client = CLIENT.from_uri(uri, wait_ms ? { connect_timeout: wait_ms.to_i / 1000.0 } : {})
    client['admin'].command(ping: 1)
    client
  rescue Mongo::AuthenticationError => e
    raise Refusal.new('auth', e.message)
  rescue Mongo::ConnectionFailure, *TIMEOUTS => e
    raise Refusal.new('connect', e.message)
  rescue Mongo::MongoArgumentError => e
    raise Refusal.new('unsupported', e.message)
  end

  def opened(client)
    concern = concern(client)
    mode = client.read.to_s.gsub(/_(.)/) { Regexp.last_match(1).upcase }
    { acknowledged: concern[:w] != 0,
      resolved: { max_pool_size: client.pool_size, write_concern: concern, read_preference: mode,
                  commands: { count: 'count' } } }
  end

  # Before 1.8: false, true, or what getlasterror is given.
  def concern(client)
    return client.write_concern if client.respond_to?(:write_concern)

    safe = client.safe
    { w: safe ? 1 : 0 }.merge(safe.is_a?(Hash) ? safe : {})
  end

  def failure(error)
    code = error.respond_to?(:error_code) ? error.error_code.to_i : 0
    if error.respond_to?(:result) && error.result.is_a?(Hash)
      first = [*error.result['writeErrors'], *error.result['writeConcernError']].first
      code = first['code'].to_i if first.is_a?(Hash)
    end
    is_timeout = TIMEOUT_CODES.include?(code) || TIMEOUTS.any? { |type| error.is_a?(type) }
    [is_timeout, code, error.class.name.split('::').last, error.message]
  end

  # Makes an operation with the driver's calls.
  class Operation < ::Operation
    def initialize(spec, client, database)
      super()
      @kind, @field = spec.values_at('kind', 'sum_field')
      return if @kind == 'noop'

      @upsert = spec['upsert'] ? { upsert: true } : {}
      @is_ordered = spec.fetch('ordered', true)
      @batch = { batch_size: spec['batch_size'], skip: spec['skip'] }.compact
      @reading = { sort: spec['sort']&.to_a, hint: spec['hint'] }.compact
      @distinct = spec['field']
      @database = client.db(database)
      target(spec, Dialect.concern(client))
    end

    def insert_one(document)
      @collection.insert(document)
      nil
    end

    def insert_many(documents)
      @collection.insert(documents, @is_ordered ? {} : { continue_on_error: true })
      nil
    end

    def find_one(filter, projection = nil)
      one(@collection.find_one(filter, { fields: projection, **@reading }.compact))
    end

    def find(limit, filter, projection = nil)
      options = { limit: limit, **@batch, **@reading }
      options[:fields] = projection if projection
      total(@collection.find(filter, options))
    end

    def update_one(filter, update)
      check(@collection.update(filter, update, @upsert))
    end

    alias replace_one update_one

    def delete_one(filter)
      check(@collection.remove(filter))
    end

    def count(filter)
      [@collection.find(filter).count, 0]
    end

    def estimated_count
      [@collection.count, 0]
    end

    def find_one_and_update(filter, update)
      one(@collection.find_and_modify(query: filter, update: update, **@reading))
    end

    def delete_many(filter)
      result = @collection.remove(filter)
      [result['n'], 0] if @is_answered
    end

    def distinct(filter)
      values(@collection.distinct(@distinct, filter))
    end

    def aggregate(pipeline)
      total(@collection.aggregate(pipeline['pipeline'], cursor: {}))
    end

    def command(command)
      @database.command(command, @read)
      nil
    end

    def drop
      @collection.drop
      nil
    end

    private

    def target(spec, concern)
      mode = spec['read_preference']&.gsub(/[A-Z]/) { |letter| "_#{letter.downcase}" }
      @read = mode ? { read: mode.to_sym } : {}
      return if @kind == 'command'

      own = (spec['write_concern'] || {}).transform_keys(&:to_sym)
      @collection = @database.collection(spec['collection'], **@read, **own)
      @is_answered = concern.merge(own)[:w] != 0
    end

    def check(result)
      require_count(result['n'], 1) if @is_answered
    end
  end
end
