# frozen_string_literal: true

# The dialect of mongo 2.x, as its users write it: calls, options, types and errors.

require 'logger'
require 'stringio'
require 'uri'

# mongo 2.5 calls a method that Ruby 3.0 has dropped; users of both define it again.
unless URI.respond_to?(:decode)
  URI.define_singleton_method(:decode) { |text| URI::DEFAULT_PARSER.unescape(text) }
  URI.define_singleton_method(:encode) { |text| URI::DEFAULT_PARSER.escape(text) }
end

# By default the driver logs to stdout, and 2.5 logs every command.
Mongo::Logger.logger = Logger.new($stderr, level: Logger::WARN)

# How users of mongo 2.x write things.
module Dialect
  EXTRAS = %w[write_concern read_concern read_preference command_concerns unacknowledged unordered
              clients lazy_insert sort hint collation max_time].freeze
  CONSUMER_NS = 4_000
  TIMEOUT_CODES = [50, 262].freeze
  TIMEOUTS = [Timeout::Error, Mongo::Error::SocketTimeoutError, Mongo::Error::NoServerAvailable,
              (Mongo::Error::TimeoutError if Mongo::Error.const_defined?(:TimeoutError))].compact
  DRIVER_ERRORS = [Mongo::Error, Timeout::Error, SystemCallError, IOError].freeze
  HAS_COUNT_DOCUMENTS = Mongo::Collection.method_defined?(:count_documents) # 2.6
  # Before 2.9 the driver guesses an option's type by its looks, and fails later or never.
  CASTS = {
    /(timeoutms|size|seconds|level)\z/i => /\A\d+\z/,
    /\A(journal|fsync|ssl)\z/i => /\A(true|false)\z/,
    /\Aw\z/i => /\A(\d+|\D+)\z/,
    # The driver sends them by a name, and as a symbol, that no server accepts.
    /\A(wtimeoutms|appname)\z/i => /\A\z/
  }.freeze

  module_function

  def driver
    native = $LOADED_FEATURES.any? { |path| path.include?('bson_native') }
    { name: 'mongo', version: Mongo::VERSION, native: native }
  end

  def capabilities
    { operations: kinds.keys, extras: EXTRAS, alters: ['int64'], uri: 'standard',
      consumer_ns: CONSUMER_NS }
  end

  # The loop of transactions is of 2.7.
  def kinds
    has = Mongo.const_defined?(:Session) && Mongo::Session.method_defined?(:with_transaction)
    has ? Operation::KINDS : Operation::KINDS.reject { |kind, _| kind == 'transaction' }
  end

  def decode_all(bytes)
    buffer = BSON::ByteBuffer.new(bytes)
    documents = []
    documents << Documents.plain(BSON::Document.from_bson(buffer)) until buffer.length.zero?
    documents
  end

  def encode(document)
    document.to_bson.to_s
  end

  def objectid(bytes)
    BSON::ObjectId.from_data(bytes)
  end

  def guid(bytes)
    BSON::Binary.new(bytes, :uuid)
  end

  def copy_binary(value)
    BSON::Binary.new(value.data.dup, value.type)
  end

  def connect(entry)
    uri = entry['uri']
    ignored = ignored_options(uri, entry['options'])
    raise Refusal.new('unsupported', ignored) unless ignored.empty?

    client = Mongo::Client.new(uri)
    client.write_concern # 2.5 checks it when it is asked for
    refuse_compressors(client, entry['options'])
    client.database.command(ping: 1)
    client
  rescue StandardError => e
    client&.close
    raise e.is_a?(Refusal) ? e : Refusal.new(refusal(e, client), e.message)
  end

  # Options that the driver ignores when it reads the connection string: it warns, or keeps a nil.
  def ignored_options(uri, options)
    log = Mongo::Logger.logger
    warned = StringIO.new
    Mongo::Logger.logger = Logger.new(warned, formatter: ->(*_, text) { "#{text}\n" })
    made = Mongo::URI.get(uri).uri_options.values
    unknown = made.flat_map { |value| value.is_a?(Hash) ? value.values : [value] }.include?(nil)
    wrong = options.select { |name, value| unknown || cast_wrongly?(name, value) }
    warned.puts("the driver makes nothing of #{wrong}") if wrong.any?
    warned.string
  ensure
    Mongo::Logger.logger = log
  end

  def cast_wrongly?(name, value)
    Mongo::URI.private_method_defined?(:cast) &&
      CASTS.any? { |names, values| names.match?(name) && !values.match?(value) }
  end

  def refuse_compressors(client, options)
    asked = options.find { |name, _| name.casecmp?('compressors') }&.last.to_s.split(',')
    dropped = asked - (client.options[:compressors] || [])
    raise Refusal.new('unsupported', "no compressor #{dropped.join(', ')}") if dropped.any?
  end

  def refusal(error, client)
    case error
    when Mongo::Error::NoServerAvailable, Mongo::Error::SocketError then 'connect'
    when Mongo::Auth::Unauthorized then 'auth'
    when Mongo::Error::InvalidWriteConcern, Mongo::Error::InvalidServerPreference then 'unsupported'
    # A client looks for a server only after it is made, so the failure concerns the connection
    # string.
    else client ? 'internal' : 'unsupported'
    end
  end

  def opened(client)
    concern = client.write_concern
    options = client.options
    pool = client.cluster.servers.first.pool
    pool = pool.send(:queue) unless pool.respond_to?(:max_size) # 2.8 and before
    { acknowledged: concern.nil? || concern.acknowledged?,
      resolved: {
        max_pool_size: pool.max_size, min_pool_size: pool.min_size,
        write_concern: concern ? concern.options : {},
        read_concern: options.dig(:read_concern, :level),
        read_preference: camel(client.read_preference&.dig(:mode) || :primary),
        compressors: options[:compressors] || [],
        retry_writes: options[:retry_writes] ? true : false,
        # 2.8 and before always retry, as many times as this.
        retry_reads: options.fetch(:retry_reads) { client.cluster.max_read_retries.positive? },
        tls: options[:ssl] ? true : false,
        commands: { count: HAS_COUNT_DOCUMENTS ? 'aggregate' : 'count' }
      } }
  end

  def camel(mode)
    mode.to_s.gsub(/_(.)/) { Regexp.last_match(1).upcase }
  end

  def snake(mode)
    mode.gsub(/[A-Z]/) { |letter| "_#{letter.downcase}" }.to_sym
  end

  # Whether it is a timeout, then code, name and message.
  def failure(error)
    code, name, message = server_failure(error)
    is_timeout = TIMEOUT_CODES.include?(code) || TIMEOUTS.any? { |type| error.is_a?(type) }
    [is_timeout, code, name || error.class.name.split('::').last, message || error.message]
  end

  def server_failure(error)
    case error
    when Mongo::Error::BulkWriteError
      result = error.result
      first = [*result['writeErrors'], *result['writeConcernErrors']].first || {}
      [first['code'].to_i, first['codeName'], first['errmsg']]
    when Mongo::Error::OperationFailure
      # 2.5 has the code only in the message.
      return [error.message[/ \((\d+)\)(?:, |\z)/, 1].to_i] unless error.respond_to?(:code)

      [error.code.to_i, error.code_name]
    else [0]
    end
  end

  # A function of what a part of a bulk is given.
  def bulk_part(spec)
    upsert = { upsert: spec['upsert'] }.compact
    case spec['kind']
    when 'insert_one' then ->(document) { { insert_one: document } }
    when 'delete_one' then ->(filter) { { delete_one: { filter: filter } } }
    when 'update_one'
      ->(filter, update) { { update_one: { filter: filter, update: update, **upsert } } }
    else ->(filter, with) { { replace_one: { filter: filter, replacement: with, **upsert } } }
    end
  end

  # Makes an operation with the driver's calls.
  class Operation < ::Operation
    def initialize(spec, client, database)
      super()
      @kind, @field = spec.values_at('kind', 'sum_field')
      @options = spec.slice('ordered', 'upsert', 'batch_size').transform_keys(&:to_sym)
      options = spec.slice('sort', 'skip', 'hint', 'collation', 'max_time_ms')
      @reading = options.transform_keys(&:to_sym)
      @distinct = spec['field']
      return if @kind == 'noop'

      @client = client
      @database = client.use(database).database
      target(spec, concerns(spec))
    end

    def insert_one(document)
      @collection.insert_one(document, @options)
      nil
    end

    def insert_many(documents)
      @collection.insert_many(documents, @options)
      nil
    end

    def find_one(filter, projection = nil)
      # A negative limit is a single batch.
      options = { projection: projection, limit: -1, **@reading }
      one(@collection.find(filter, options.compact).first)
    end

    def find(limit, filter, projection = nil)
      options = { projection: projection, limit: limit, **@options, **@reading }
      total(@collection.find(filter, options.compact))
    end

    def update_one(filter, update)
      check_matched(@collection.update_one(filter, update, @options))
    end

    def replace_one(filter, document)
      check_matched(@collection.replace_one(filter, document, @options))
    end

    def delete_one(filter)
      result = @collection.delete_one(filter, @options)
      require_count(result.deleted_count, 1) if @is_answered
      nil
    end

    def count(filter)
      [HAS_COUNT_DOCUMENTS ? @collection.count_documents(filter) : @collection.count(filter), 0]
    end

    def estimated_count
      [HAS_COUNT_DOCUMENTS ? @collection.estimated_document_count : @collection.count, 0]
    end

    def find_one_and_update(filter, update)
      one(@collection.find_one_and_update(filter, update, @reading))
    end

    def update_many(filter, update)
      result = @collection.update_many(filter, update)
      [result.matched_count, 0] if @is_answered
    end

    def delete_many(filter)
      result = @collection.delete_many(filter)
      [result.deleted_count, 0] if @is_answered
    end

    def distinct(filter)
      values(@collection.distinct(@distinct, filter))
    end

    def bulk_write(requests)
      result = @collection.bulk_write(requests, @options)
      return unless @is_answered

      counts = %i[inserted_count matched_count upserted_count deleted_count]
      require_count(counts.sum { |name| result.public_send(name).to_i }, requests.size)
    end

    # What the parts of a transaction are, by their numbers, and what counts attempts.
    def take_parts(parts, retries)
      @parts = parts
      @retries = retries
      self
    end

    # By the driver's own loop, which tries again what may be tried again.
    def transaction(requests)
      attempts = 0
      session = @client.start_session
      session.with_transaction(@concerns) do
        @retries.add if (attempts += 1) > 1
        answers = requests.map { |number, given| @parts[number].within(session).call(*given) }
        [[0, 0], *answers.compact].transpose.map(&:sum)
      end
    ensure
      session&.end_session
    end

    # The same operation in a session.
    def within(session)
      part = dup
      part.join(session)
      part.method(@kind)
    end

    def aggregate(pipeline)
      total(@collection.aggregate(pipeline['pipeline']))
    end

    def command(command)
      @database.command(command.merge!(@fields), @read)
      nil
    end

    def drop
      @collection.drop
      nil
    end

    protected

    def join(session)
      @options = @options.merge(session: session)
      @reading = @reading.merge(session: session)
    end

    private

    def concerns(spec)
      mode = spec['read_preference']
      { write: spec['write_concern']&.transform_keys(&:to_sym),
        read_concern: spec['read_concern'] && { level: spec['read_concern'] },
        read: mode && { mode: Dialect.snake(mode) } }.compact
    end

    # A command has its concerns as its own fields.
    def target(spec, concerns)
      case @kind
      when 'command'
        @read = concerns.slice(:read)
        @fields = { 'writeConcern' => concerns[:write],
                    'readConcern' => concerns[:read_concern] }.compact
      when 'transaction'
        @concerns = { write_concern: concerns[:write],
                      read_concern: concerns[:read_concern] }.compact
      else
        @collection = @database[spec['collection'], concerns]
        @is_answered = @collection.write_concern.nil? || @collection.write_concern.acknowledged?
      end
    end

    def check_matched(result)
      require_count(result.matched_count + result.upserted_count, 1) if @is_answered
    end
  end

  # A tailable cursor that returns nil when an await has ended.
  class Tail
    # mongo 2.5 has no try_next; this one is from 2.6.
    module TryNext
      def try_next
        @documents ||= process(@initial_result)
        @documents = get_more if @documents.empty? && more?
        @documents.shift
      end
    end

    def initialize(collection, await_ms)
      view = collection.find({}, cursor_type: :tailable_await, max_await_time_ms: await_ms)
      view.each # opens the cursor, which the view does not expose
      @cursor = view.instance_variable_get(:@cursor)
      @cursor.extend(TryNext) unless @cursor.respond_to?(:try_next)
    end

    def next_document
      document = @cursor.try_next
      raise Mongo::Error, 'the cursor is dead' if document.nil? && @cursor.closed?

      document
    rescue StopIteration
      raise Mongo::Error, 'the cursor is dead'
    end

    def close
      @cursor.send(@cursor.respond_to?(:close) ? :close : :kill_cursors) unless @cursor.closed?
    end
  end
end
