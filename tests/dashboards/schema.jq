# schema.jq - what a value has that its JSON schema does not allow, one line each; nothing when it is
# valid. Knows what tests/dashboards/schema.json uses and refuses a schema with more than that.

# what($v): "object", "integer", ... as a schema calls it
def what: if type == "number" and . == floor then "integer" else type end;

def is($wanted): what as $w | any([$wanted] | flatten[]; . == $w or (. == "number" and $w == "integer"));

# errors($root; $schema; $path) of the value
def errors($root; $schema; $path):
    . as $v
    | if $schema == true or $schema == {} then empty
      elif $schema == false then "\($path): must not be there"
      elif $schema | has("$ref") then
          ($schema["$ref"] | ltrimstr("#/definitions/")) as $name
          | if $root.definitions | has($name) then errors($root; $root.definitions[$name]; $path)
            else "\($path): the schema has no \($name)" end
      elif $schema | has("anyOf") then
          [$schema.anyOf[] as $one | [$v | errors($root; $one; $path)]]
          | if any(length == 0) then empty else min_by(length)[] end
      else
          ($schema | keys - ["type", "properties", "required", "additionalProperties", "items", "enum", "const",
                             "$schema", "definitions", "description", "default", "$comment"]
              | .[] | "\($path): the schema has a word that is not known here: \(.)"),
          (if ($schema | has("type")) and ($v | is($schema.type) | not) then
               "\($path): is \($v | what), must be \([$schema.type] | flatten | join(" or "))"
           else
               (if ($schema | has("enum")) and all($schema.enum[]; . != $v) then
                    "\($path): \($v | tojson) is none of \($schema.enum | tojson)" else empty end),
               (if ($schema | has("const")) and $schema.const != $v then
                    "\($path): is \($v | tojson), must be \($schema.const | tojson)" else empty end),
               (if $v | type == "object" then
                    ($schema.required // [] | .[] | . as $key | select($v | has($key) | not) | "\($path): lacks \($key)"),
                    ($v | keys[] as $key
                        | if $schema.properties // {} | has($key) then
                              .[$key] | errors($root; $schema.properties[$key]; "\($path).\($key)")
                          elif $schema.additionalProperties == false then "\($path): \($key) is not known"
                          elif $schema | has("additionalProperties") then
                              .[$key] | errors($root; $schema.additionalProperties; "\($path).\($key)")
                          else empty end)
                elif ($v | type == "array") and ($schema | has("items")) then
                    range($v | length) as $i | $v[$i] | errors($root; $schema.items; "\($path)[\($i)]")
                else empty end)
           end)
      end;

def judged($schema; $path): errors($schema; $schema; $path);

# A dashboard by the schema of dashboards, each panel's options by those of its kind.
$all[0] as $s
| judged($s.dashboard; ""),
  (.panels[] | . as $panel
      | if .type == "row" then empty
        elif $s.panels | has($panel.type) | not then "'\(.title)': there is no schema of a panel \(.type)"
        else
            (if $s.panels[$panel.type].options then .options // {} | judged($s.panels[$panel.type].options; "'\($panel.title)' options") else empty end),
            (if $s.panels[$panel.type].custom then .fieldConfig.defaults.custom // {} | judged($s.panels[$panel.type].custom; "'\($panel.title)' custom") else empty end)
        end)
