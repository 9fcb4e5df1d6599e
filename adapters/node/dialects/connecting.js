// Connecting, for drivers up to 3. They know options under other names, or ignore an unknown one:
// an arm that is named after an option must have it.
'use strict';

var plan = require('../plan');
var protocol = require('../protocol');

var READ = {
  number: function number(text) {
    return /^-?\d+$/.test(text) ? Number(text) : undefined;
  },
  boolean: function boolean(text) {
    return { true: true, false: false }[text];
  },
  /** A number in a string would be the name of a tag. */
  w: function w(text) {
    return /^\d+$/.test(text) ? Number(text) : text;
  },
  text: function text(value) {
    return value;
  },
  /** These drivers connect to the string's only server by default. */
  as_it_is: function asItIs(text) {
    return text === 'true' || undefined;
  }
};

/**
 * `known` has words for each name: how its value is read, and where the driver expects it, if
 * anywhere; `uri` leaves it in the string. If two have one place, the later wins. Returns `values`
 * by name, the driver's `settings`, the `address` (the string with only what it alone can say), and
 * what is `resolved` by defaults that hardly changed.
 */
exports.read = function read(entry, known, driver) {
  var values = {};
  var settings = {};
  var pairs = [];
  var given = {};
  Object.keys(entry.options).forEach(function (name) {
    given[name.toLowerCase()] = name;
  });
  Object.keys(known).forEach(function (name) {
    var as = given[name.toLowerCase()];
    var words = known[name].split(' ');
    var text = entry.options[as];
    if (as === undefined) return;
    delete given[name.toLowerCase()];
    values[name] = READ[words[0]](text);
    if (values[name] === undefined) refuse(driver + ' takes no ' + as + '=' + text);
    if (words[1] === 'uri') pairs.push(name + '=' + encodeURIComponent(text));
    else if (words[1]) put(settings, words[1].split('.'), values[name]);
  });
  Object.keys(given).forEach(function (name) {
    refuse(driver + ' knows no option ' + given[name]);
  });
  return {
    values: values,
    settings: settings,
    address: entry.uri.split('?')[0] + (pairs.length > 0 ? '?' + pairs.join('&') : ''),
    resolved: {
      min_pool_size: null,
      write_concern: plan.given({
        w: values.w, // unset: none is sent
        j: values.journal,
        wtimeout: values.wtimeoutMS
      }),
      read_concern: values.readConcernLevel || null,
      read_preference: values.readPreference || 'primary',
      compressors: [],
      retry_writes: false,
      retry_reads: false,
      tls: values.ssl === true,
      commands: { count: 'count' }
    }
  };
};

/** Returns a client after a ping has proved it. */
exports.prove = function prove(database, options, close, done) {
  database.command({ ping: 1 }, function (failed) {
    var acknowledged = options.values.w !== 0;
    var opened = { database: database, acknowledged: acknowledged, resolved: options.resolved };
    opened.close = close;
    if (!failed) return done(null, opened);
    close(function () {
      done(failed);
    });
  });
};

function refuse(message) {
  throw new protocol.Refusal('unsupported', message);
}

function put(settings, path, value) {
  if (path.length === 1) {
    settings[path[0]] = value;
    return;
  }
  settings[path[0]] = settings[path[0]] || {};
  put(settings[path[0]], path.slice(1), value);
}
