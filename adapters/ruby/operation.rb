# frozen_string_literal: true

# An operation on its target. Each dialect adds the driver's calls, with the names of SPEC section
# 4. They return the documents read and their sum, or nil, and raise errors.
class Operation
  # What each call is given, in its order.
  KINDS = {
    'noop' => %w[documents], 'insert_one' => %w[documents], 'insert_many' => %w[documents],
    'find_one' => %w[filter projection], 'find' => %w[filter projection],
    'update_one' => %w[filter update], 'delete_one' => %w[filter], 'count' => %w[filter],
    'estimated_count' => [], 'replace_one' => %w[filter documents],
    'find_one_and_update' => %w[filter update], 'read_modify_write' => %w[filter update],
    'update_many' => %w[filter update], 'delete_many' => %w[filter],
    'distinct' => %w[filter], 'bulk_write' => [], 'aggregate' => %w[pipeline],
    'command' => %w[command], 'drop' => [], 'transaction' => []
  }.freeze
  BULK_KINDS = %w[insert_one update_one replace_one delete_one].freeze
  TRANSACTION_KINDS = %w[insert_one find_one update_one replace_one delete_one
                         find_one_and_update].freeze

  def noop(documents = [])
    total(documents)
  end

  def read_modify_write(filter, update)
    found = find_one(filter)
    update_one(filter, update)
    found
  end

  private

  def total(documents)
    read = sum = 0
    documents.each do |document|
      read += 1
      sum += document[@field] || 0 if @field
    end
    [read, sum]
  end

  def values(found)
    [found.size, @field ? found.sum : 0]
  end

  def one(document)
    raise WrongAnswer, 'no document was found' if document.nil?

    [1, (@field && document[@field]) || 0]
  end

  def require_count(count, asked)
    raise WrongAnswer, "#{count} done of #{asked}" if count != asked
  end
end
