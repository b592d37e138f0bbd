// Written by `make docs` from coincide/queries/query.schema.json; change it there.
export const schema = {
 "$schema": "https://json-schema.org/draft/2020-12/schema",
 "title": "Query",
 "description": "A continuous query: a join of streams, or, where coalesce says what from, a query over the readings of one stream.",
 "if": {
  "properties": {
   "coalesce": {
    "type": "object",
    "required": [
     "from"
    ]
   }
  },
  "required": [
   "coalesce"
  ]
 },
 "then": {
  "$ref": "#/$defs/readings_query"
 },
 "else": {
  "$ref": "#/$defs/join"
 },
 "$defs": {
  "name": {
   "type": "string",
   "maxLength": 100,
   "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]*$"
  },
  "edge": {
   "type": "object",
   "properties": {
    "between": {
     "type": "array",
     "items": {
      "type": "string"
     },
     "minItems": 2,
     "maxItems": 2,
     "uniqueItems": true,
     "description": "Two roles; the window bounds the second's time minus the first's. Left out only where one edge stands for all of a form."
    },
    "window_s": {
     "type": "number",
     "minimum": 0,
     "description": "Short for lo_s = -window_s, hi_s = window_s."
    },
    "lo_s": {
     "type": "number"
    },
    "hi_s": {
     "type": "number"
    },
    "threshold": {
     "type": "number",
     "exclusiveMinimum": 0,
     "maximum": 1,
     "description": "Least probability of this edge; may be left out where there is a joint_threshold."
    }
   },
   "oneOf": [
    {
     "required": [
      "window_s"
     ]
    },
    {
     "required": [
      "lo_s",
      "hi_s"
     ]
    }
   ],
   "dependentRequired": {
    "lo_s": [
     "hi_s"
    ],
    "hi_s": [
     "lo_s"
    ]
   },
   "additionalProperties": false
  },
  "join": {
   "title": "Join",
   "description": "Which streams, how near in time, how sure. The edges of within hold all roles together; windows that no times satisfy at once, two edges between the same roles and roles that no edges connect are refused.",
   "type": "object",
   "properties": {
    "id": {
     "$ref": "#/$defs/name"
    },
    "from": {
     "type": "object",
     "minProperties": 2,
     "maxProperties": 16,
     "propertyNames": {
      "pattern": "^[A-Za-z][A-Za-z0-9_]*$",
      "maxLength": 100
     },
     "additionalProperties": {
      "oneOf": [
       {
        "$ref": "#/$defs/name"
       },
       {
        "$ref": "#/$defs/source"
       }
      ]
     },
     "description": "Stream of each role, or the stream and which of its detections may play the role; the order of the roles is the order of a match's members."
    },
    "within": {
     "type": "array",
     "minItems": 1,
     "maxItems": 120,
     "items": {
      "$ref": "#/$defs/edge"
     },
     "description": "The edges of the constraint graph. Where form is path or clique, one edge without between may stand for all of them: between each role of from and the next, or between every two roles in the order of from. It is written back edge by edge."
    },
    "form": {
     "enum": [
      "path",
      "clique",
      "graph"
     ],
     "description": "What the edges make, checked: a path in the order of from, a clique with an edge for every two roles, or any graph. Without it the edges are taken as they are."
    },
    "joint_threshold": {
     "type": "number",
     "exclusiveMinimum": 0,
     "maximum": 1,
     "description": "Least probability that all edges hold at once; with it the edges need no thresholds of their own."
    },
    "at_least": {
     "description": "So many members will do. A match is then a set that no further detection fits into; when one comes that does, a larger match supersedes it.",
     "oneOf": [
      {
       "type": "integer",
       "minimum": 2,
       "maximum": 15,
       "description": "So many of all roles, less than there are; cliques only."
      },
      {
       "type": "object",
       "properties": {
        "of": {
         "type": "array",
         "minItems": 1,
         "maxItems": 16,
         "uniqueItems": true,
         "items": {
          "type": "string",
          "maxLength": 100,
          "pattern": "^[A-Za-z][A-Za-z0-9_]*$"
         },
         "description": "Roles that may be absent; all others are required. Edges connect those, and tie each of these to one of them."
        },
        "count": {
         "type": "integer",
         "minimum": 0,
         "maximum": 15,
         "description": "How many of them every match has at least: less than there are, and two members together with the required ones."
        }
       },
       "required": [
        "of",
        "count"
       ],
       "additionalProperties": false
      }
     ]
    },
    "equal": {
     "type": "string",
     "pattern": "^attributes\\..{1,100}$",
     "description": "Attribute whose values are equal in all members: strings, numbers, true or false. A detection without it is in no match."
    },
    "unreachable": {
     "const": "allow",
     "description": "Accept a threshold that no registered sensors can reach; without it such a query is refused."
    },
    "sensors": {
     "enum": [
      "different",
      "same",
      "any"
     ],
     "default": "different",
     "description": "Which sensors the members of a match come from."
    },
    "areas": {
     "$ref": "#/$defs/names",
     "description": "Areas that the query is for; without it every area. * stands for any characters and ? for one."
    },
    "coalesce": {
     "type": "object",
     "properties": {
      "gap_s": {
       "type": "number",
       "minimum": 0,
       "maximum": 2592000,
       "description": "Matches at most so far apart make one episode."
      },
      "by": {
       "type": "array",
       "items": {
        "type": "string",
        "maxLength": 250,
        "pattern": "^([A-Za-z][A-Za-z0-9_]*\\.sensor|([A-Za-z][A-Za-z0-9_]*\\.)?attributes\\..{1,100})$"
       },
       "maxItems": 8,
       "uniqueItems": true,
       "default": [],
       "description": "Labels whose values tell groups apart: ROLE.sensor, ROLE.attributes.NAME, or what the query wants equal. An area is a group by itself always."
      },
      "interval": {
       "enum": [
        "occurred",
        "hull"
       ],
       "description": "When a match was: the central 90 % of when it occurred, the default where it is told (two roles, or a clique of one symmetric window), or from its earliest to its latest possible instant."
      }
     },
     "required": [
      "gap_s"
     ],
     "additionalProperties": false,
     "description": "Matches become episodes on coincide.episodes."
    },
    "limits": {
     "type": "object",
     "properties": {
      "max_matches_per_detection": {
       "type": "integer",
       "minimum": 1,
       "maximum": 1000000,
       "description": "Most matches that one detection may complete."
      },
      "max_candidates_per_detection": {
       "type": "integer",
       "minimum": 1,
       "maximum": 1000000,
       "description": "Most tuples of pairwise compatible members that one detection may complete, before their joint probability is judged; more than two roles only."
      },
      "max_matches_per_s": {
       "type": "integer",
       "minimum": 1,
       "maximum": 1000000,
       "description": "Most matches in one area within one second of received time."
      }
     },
     "additionalProperties": false,
     "description": "Limits of this query, in place of the fusion job's settings by these names. A detection that breaks one suspends the query in its area."
    },
    "alert": {
     "$ref": "#/$defs/alert"
    }
   },
   "required": [
    "id",
    "from",
    "within"
   ],
   "additionalProperties": false,
   "allOf": [
    {
     "anyOf": [
      {
       "required": [
        "joint_threshold"
       ]
      },
      {
       "properties": {
        "within": {
         "items": {
          "required": [
           "threshold"
          ]
         }
        }
       }
      }
     ]
    },
    {
     "anyOf": [
      {
       "required": [
        "form"
       ],
       "properties": {
        "form": {
         "enum": [
          "path",
          "clique"
         ]
        },
        "within": {
         "maxItems": 1
        }
       }
      },
      {
       "properties": {
        "within": {
         "items": {
          "required": [
           "between"
          ]
         }
        }
       }
      }
     ]
    }
   ]
  },
  "readings_query": {
   "title": "Query over readings",
   "description": "What is read of one stream, coalesced to runs; and what is asked of every window that slides over them, or, without a window, how long a spell lasts that is told once.",
   "type": "object",
   "properties": {
    "id": {
     "$ref": "#/$defs/name"
    },
    "coalesce": {
     "type": "object",
     "properties": {
      "from": {
       "$ref": "#/$defs/name",
       "description": "Stream of the readings."
      },
      "by": {
       "anyOf": [
        {
         "type": "string",
         "pattern": "^(sensor|attributes\\..{1,100})$"
        },
        {
         "type": "array",
         "items": {
          "type": "string",
          "pattern": "^(sensor|attributes\\..{1,100})$"
         },
         "maxItems": 8,
         "uniqueItems": true
        }
       ],
       "default": "sensor",
       "description": "What makes a group: the sensor, attributes, or several of these; an empty list makes one group of an area."
      },
      "value": {
       "type": "string",
       "pattern": "^attributes\\..{1,100}$",
       "description": "Attribute that is read. A detection without it, or without what it is grouped by, is no reading."
      },
      "where": {
       "type": "object",
       "properties": {
        "above": {
         "type": "number"
        },
        "at_least": {
         "type": "number"
        },
        "below": {
         "type": "number"
        },
        "at_most": {
         "type": "number"
        },
        "until_below": {
         "type": "number",
         "description": "Of spells: one that began above the lower bound lasts until a value is below this; at most that bound."
        },
        "until_above": {
         "type": "number",
         "description": "Of spells: one that began below the upper bound lasts until a value is above this; at least that bound."
        }
       },
       "minProperties": 1,
       "dependentSchemas": {
        "until_below": {
         "anyOf": [
          {
           "required": [
            "above"
           ]
          },
          {
           "required": [
            "at_least"
           ]
          }
         ]
        },
        "until_above": {
         "anyOf": [
          {
           "required": [
            "below"
           ]
          },
          {
           "required": [
            "at_most"
           ]
          }
         ]
        }
       },
       "allOf": [
        {
         "not": {
          "required": [
           "above",
           "at_least"
          ]
         }
        },
        {
         "not": {
          "required": [
           "below",
           "at_most"
          ]
         }
        }
       ],
       "additionalProperties": false,
       "description": "Which values interest; one that does not ends the run before it. At most one lower and one upper bound."
      },
      "equivalence": {
       "anyOf": [
        {
         "enum": [
          "equal",
          "any",
          "increasing",
          "decreasing"
         ]
        },
        {
         "type": "object",
         "properties": {
          "relative": {
           "type": "number",
           "minimum": 0
          }
         },
         "required": [
          "relative"
         ],
         "additionalProperties": false
        },
        {
         "type": "object",
         "properties": {
          "bounded": {
           "type": "number",
           "minimum": 0
          }
         },
         "required": [
          "bounded"
         ],
         "additionalProperties": false
        },
        {
         "type": "object",
         "properties": {
          "quantised": {
           "type": "number",
           "exclusiveMinimum": 0
          }
         },
         "required": [
          "quantised"
         ],
         "additionalProperties": false
        }
       ],
       "description": "Which value goes on from the one before it. Default: any where there is a where, else equal."
      },
      "hold_s": {
       "type": "number",
       "minimum": 1e-06,
       "maximum": 100000000.0,
       "description": "How long a reading holds at most if no other one of its group comes. Default: time_s of the window; without one lasting_s."
      },
      "window": {
       "type": "object",
       "properties": {
        "time_s": {
         "type": "number",
         "minimum": 1e-06,
         "maximum": 100000000.0,
         "description": "How long a window is."
        },
        "slide_s": {
         "type": "number",
         "minimum": 1e-06,
         "maximum": 100000000.0,
         "description": "A window ends at every multiple of it since the epoch; at least 1/10000 of time_s and hold_s together."
        }
       },
       "required": [
        "time_s",
        "slide_s"
       ],
       "additionalProperties": false,
       "description": "Without it each spell of at least lasting_s is told once."
      }
     },
     "required": [
      "from",
      "value"
     ],
     "additionalProperties": false
    },
    "longest": {
     "const": true,
     "description": "The longest run of each group, cut to the window; of equally long ones the first."
    },
    "lasting_s": {
     "type": "number",
     "minimum": 1e-06,
     "maximum": 100000000.0,
     "description": "Every run that lasts so long: inside the window, or, without a window, each once."
    },
    "threshold": {
     "type": "number",
     "exclusiveMinimum": 0,
     "maximum": 1,
     "default": 0.5,
     "description": "Without a window: the least probability that a spell lasted so long."
    },
    "join": {
     "type": "object",
     "properties": {
      "within": {
       "type": "number",
       "minimum": 0,
       "default": 0,
       "description": "How far the values of the two may differ."
      },
      "lasting_s": {
       "type": "number",
       "minimum": 1e-06,
       "maximum": 100000000.0,
       "description": "How long they hold together inside the window."
      }
     },
     "required": [
      "lasting_s"
     ],
     "additionalProperties": false,
     "description": "Every two runs of different groups with similar values; runs by equal or quantised values only."
    },
    "alert": {
     "$ref": "#/$defs/alert"
    }
   },
   "required": [
    "id",
    "coalesce"
   ],
   "oneOf": [
    {
     "required": [
      "longest"
     ]
    },
    {
     "required": [
      "lasting_s"
     ]
    },
    {
     "required": [
      "join"
     ]
    }
   ],
   "additionalProperties": false,
   "if": {
    "properties": {
     "coalesce": {
      "type": "object",
      "required": [
       "window"
      ]
     }
    },
    "required": [
     "coalesce"
    ]
   },
   "then": {
    "not": {
     "required": [
      "threshold"
     ]
    },
    "properties": {
     "coalesce": {
      "properties": {
       "where": {
        "not": {
         "anyOf": [
          {
           "required": [
            "until_below"
           ]
          },
          {
           "required": [
            "until_above"
           ]
          }
         ]
        }
       }
      }
     }
    }
   },
   "else": {
    "required": [
     "lasting_s"
    ]
   }
  },
  "names": {
   "type": "array",
   "minItems": 1,
   "maxItems": 100,
   "items": {
    "type": "string",
    "minLength": 1,
    "maxLength": 200
   },
   "description": "Names, in which * stands for any characters and ? for one."
  },
  "attribute_test": {
   "description": "What an attribute must be: a number within limits, or one of some values.",
   "oneOf": [
    {
     "type": "object",
     "minProperties": 1,
     "properties": {
      "above": {
       "type": "number"
      },
      "at_least": {
       "type": "number"
      },
      "below": {
       "type": "number"
      },
      "at_most": {
       "type": "number"
      }
     },
     "not": {
      "anyOf": [
       {
        "required": [
         "above",
         "at_least"
        ]
       },
       {
        "required": [
         "below",
         "at_most"
        ]
       }
      ]
     },
     "additionalProperties": false
    },
    {
     "type": "object",
     "required": [
      "is"
     ],
     "properties": {
      "is": {
       "type": [
        "string",
        "number",
        "boolean"
       ]
      }
     },
     "additionalProperties": false
    },
    {
     "type": "object",
     "required": [
      "in"
     ],
     "properties": {
      "in": {
       "type": "array",
       "minItems": 1,
       "maxItems": 100,
       "items": {
        "type": [
         "string",
         "number",
         "boolean"
        ]
       }
      }
     },
     "additionalProperties": false
    }
   ]
  },
  "source": {
   "type": "object",
   "required": [
    "stream"
   ],
   "properties": {
    "stream": {
     "$ref": "#/$defs/name"
    },
    "where": {
     "type": "object",
     "maxProperties": 16,
     "propertyNames": {
      "pattern": "^attributes\\..{1,100}$"
     },
     "additionalProperties": {
      "$ref": "#/$defs/attribute_test"
     },
     "description": "What the detection's attributes must be. A detection without the attribute plays no such role."
    },
    "sensors": {
     "$ref": "#/$defs/names",
     "description": "Sensors whose detections may play the role; * stands for any characters and ? for one."
    },
    "areas": {
     "$ref": "#/$defs/names",
     "description": "Areas whose detections may play the role; * stands for any characters and ? for one."
    }
   },
   "additionalProperties": false
  },
  "alert": {
   "type": "object",
   "description": "Which episodes, or matches where nothing is coalesced, somebody is told of, and who.",
   "properties": {
    "min_probability": {
     "type": "number",
     "exclusiveMinimum": 0,
     "maximum": 1,
     "description": "What is less probable makes no alert; joins only."
    },
    "members": {
     "type": "integer",
     "minimum": 1,
     "maximum": 200,
     "description": "At least so many members; of an episode, of its distinct detections. Joins only; without coalesce at most as many as roles."
    },
    "severity": {
     "description": "A name, or, for joins, from which probability on which name; what is less probable than the least makes no alert.",
     "default": "warning",
     "oneOf": [
      {
       "$ref": "#/$defs/name"
      },
      {
       "type": "array",
       "minItems": 1,
       "maxItems": 8,
       "items": {
        "type": "array",
        "prefixItems": [
         {
          "type": "number",
          "minimum": 0,
          "maximum": 1
         },
         {
          "$ref": "#/$defs/name"
         }
        ],
        "minItems": 2,
        "maxItems": 2
       }
      }
     ]
    },
    "title": {
     "type": "string",
     "minLength": 1,
     "maxLength": 200,
     "default": "{query} in {area}",
     "description": "One line; {query}, {area}, {severity}, {probability}, {members}, {start}, {end}, {group} and, of readings, {stream} stand for what the alert has. A group and a stream of readings that it does not name stand at its end."
    },
    "labels": {
     "type": "object",
     "maxProperties": 16,
     "propertyNames": {
      "pattern": "^[A-Za-z_][A-Za-z0-9_]*$",
      "not": {
       "enum": [
        "alertname",
        "alert",
        "kind",
        "query",
        "area",
        "severity"
       ]
      }
     },
     "additionalProperties": {
      "type": "string",
      "maxLength": 200
     },
     "description": "Further labels, for receivers and silences."
    },
    "resolve_after_s": {
     "type": "number",
     "minimum": 0,
     "maximum": 604800,
     "default": 60,
     "description": "So long after its newest detection an alert is resolved, once its episode is no longer open."
    },
    "max_per_hour": {
     "type": "integer",
     "minimum": 1,
     "maximum": 1000000,
     "default": 60,
     "description": "Beyond so many new alerts in an hour of the clock one summary is sent instead."
    },
    "to": {
     "type": "array",
     "minItems": 1,
     "maxItems": 16,
     "uniqueItems": true,
     "items": {
      "$ref": "#/$defs/name"
     },
     "description": "Receivers by name; without it all of them."
    }
   },
   "additionalProperties": false
  }
 }
};
