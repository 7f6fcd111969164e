package manifest

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wagent-dev/wagent/host/internal/testkit"
)

const oneTool = "version: 1\ntools:\n  - module: tools/wordcount.wasm\n"

func TestEachMistakeHasItsPlaceAndAHint(t *testing.T) {
	dir := folder(t)
	for src, want := range map[string]string{
		// The text.
		"":                        `1:1: the manifest is empty: begin with "version: 1"`,
		"# nothing\n":             `1:1: the manifest is empty: begin with "version: 1"`,
		"- a\n":                   "1:1: must be a mapping, found a list",
		"version: 1\nname: [a\n":  "2:7: not valid YAML: sequence end token ']' not found",
		"version: 1\n\tname: a\n": "2:1: a tab stands where YAML takes spaces only: indent with spaces",
		"version: 1\nmodel:\n  name: a\n\tstream: true\n": "4:1: a tab stands where YAML takes spaces only: indent with spaces",
		"\tversion: 1\n":                                       "1:1: a tab stands where YAML takes spaces only: indent with spaces",
		"version: 1\nmodel: {api_key: ${KEY}}\n":               `2:18: put ${…} in quotes inside { } and [ ], such as {api_key: "${NAME}"}`,
		"version: 1\nmodel: {base_url: http://${H}:80/v1}\n":   `2:19: put ${…} in quotes inside { } and [ ], such as {api_key: "${NAME}"}`,
		"version: 1\ntools:\n  - {module: ${DIR:-.}/a.wasm}\n": `3:14: put ${…} in quotes inside { } and [ ], such as {api_key: "${NAME}"}`,
		"version: 1\nmodel: {extra: {stop: [${A}]}}\n":         `2:24: put ${…} in quotes inside { } and [ ], such as {api_key: "${NAME}"}`,
		"version: 1\nname: cost $ {a}\n":                       `2:7: name: "cost $ {a}" is not a name: at most 64 letters, digits, _ and -, and no digit or - first`,
		"version: 1\nname: \"a\n":                              "2:7: could not find end character of double-quoted text",
		"version: 1\n---\nname: a\n":                           "2:1: a manifest is one YAML document, and here another begins",
		"version: 1\nname: \x00\n":                             "2:1: the line has a control character in it",
		"version: 1\nname: \xff\n":                             "2:1: the line is not valid UTF-8",
		"version: !!int 1\n":                                   "1:10: YAML tags are not supported",
		"version: 1\nmodel: !Model {}\n":                       "2:8: YAML tags are not supported",
		"%YAML 1.2\n---\nversion: 1\n":                         "1:1: YAML directives are not supported",
		"version: 1\nagent:\n  <<: {}\n":                       `3:3: "<<" is not supported: write the fields out`,
		"version: 1\nname: *a\n":                               "2:7: name: there is no anchor \"a\"",
		"version: 1\nname: a\nname: b\n":                       `3:1: the field "name" is there twice`,
		"version: 1\n1: a\n":                                   "2:1: a field's name must be a string, found a number: put it in quotes",

		// The whole.
		"name: a\n":                `1:1: the field "version" is missing: write "version: 1"`,
		"version: 2\n":             "1:10: version: this version of the format is not known: write 1",
		"version: \"1\"\n":         "1:10: version: must be a whole number, found a string",
		"version: 1\nmodle: {}\n":  `2:1: unknown field "modle", did you mean "model"?`,
		"version: 1\ncolour: {}\n": `2:1: unknown field "colour"; there are version, name, description, model, agent, tools, receipts`,
		"version: 1\nname: a b\n":  `2:7: name: "a b" is not a name: at most 64 letters, digits, _ and -, and no digit or - first`,
		"version: 1\nname: 12\n":   "2:7: name: must be a string, found a number: put it in quotes",
		"version: 1\nname:\n":      "2:7: name: must be a string, found nothing",
		"version: 1\ntools: {}\n":  "2:8: tools: must be a list, found a mapping",
		"version: 1\ntools: [a]\n": "2:9: tools[0]: must be a mapping, found a string",
		"version: 1\nhooks: {}\n":  `2:1: "hooks" is not supported yet`,
		"version: 1\nstore: {}\nhistory: {}\nmemory: {}\nreceipts: {fule: true}\naudit: {}\n": "2:1: \"store\" is not supported yet\n3:1: \"history\" is not supported yet\n4:1: \"memory\" is not supported yet\n5:12: receipts: unknown field \"fule\", did you mean \"fuel\"?\n6:1: \"audit\" is not supported yet",

		// The model.
		"version: 1\nmodel: {provider: opanai}\n":                                                                        `2:19: model.provider: unknown value "opanai", did you mean "openai"?`,
		"version: 1\nmodel: {provider: replay}\n":                                                                        `2:8: model: the field "recording" is missing: provider replay plays it`,
		"version: 1\nmodel: {recording: no.jsonl}\n":                                                                     `2:20: model.recording: no such file: "no.jsonl"`,
		"version: 1\nmodel: {base_url: api.openai.com}\n":                                                                `2:19: model.base_url: must be an address such as "https://api.openai.com/v1"`,
		"version: 1\nmodel: {base_url: \"https://user:pass@h/v1\"}\n":                                                    `2:19: model.base_url: has a user or password in it: use api_key`,
		"version: 1\nmodel: {api_key: \"${NO_KEY}\"}\n":                                                                  `2:18: model.api_key: the environment variable NO_KEY is not set: set it, or write ${NO_KEY:-default}`,
		"version: 1\nmodel: {api_key: \"${NO KEY}\"}\n":                                                                  `2:18: model.api_key: "NO KEY" is not the name of a variable: write ${NAME} or ${NAME:-default}`,
		"version: 1\nmodel: {api_key: \"${KEY\"}\n":                                                                      `2:18: model.api_key: "${" without "}": write "$${" for the characters themselves`,
		"version: 1\nmodel: {api_key: \"${A:-${B}}\"}\n":                                                                 `2:18: model.api_key: the default of the variable "A" cannot have another variable in it`,
		"version: 1\nmodel: {api_key: \"a b\\n\"}\n":                                                                     `2:18: model.api_key: the key has a space, a line break or another character that no key has`,
		"version: 1\nmodel: {api_key: \"abcd \"}\n":                                                                      `2:18: model.api_key: the key has a space, a line break or another character that no key has`,
		"version: 1\nmodel: {temperature: 3}\n":                                                                          `2:22: model.temperature: must be from 0 to 2`,
		"version: 1\nmodel: {temperature: hot}\n":                                                                        `2:22: model.temperature: must be a number, found a string`,
		"version: 1\nmodel: {temperature: .nan}\n":                                                                       `2:22: model.temperature: must be a number, found what is no number`,
		"version: 1\nmodel: {context_window: -99999999999999999999}\n":                                                   `2:25: model.context_window: the number is too large`,
		"version: 1\nmodel: {extra: {a: -1e999, b: \"1e999\"}}\n":                                                        `2:20: model.extra["a"]: the number is too large: put it in quotes if it is text`,
		"version: 1\nmodel: {temperature: -.inf}\n":                                                                      `2:22: model.temperature: must be a number, found infinity`,
		"version: 1\nmodel: {temperature: 1e999}\n":                                                                      `2:22: model.temperature: the number is too large`,
		"version: 1\nmodel: {extra: {a: .inf, b: [.nan]}}\n":                                                             "2:20: model.extra[\"a\"]: infinity cannot be used here: it is not a value of JSON\n2:30: model.extra[\"b\"][0]: what is no number cannot be used here: it is not a value of JSON",
		"version: 1\nmodel: {stream: yes}\n":                                                                             `2:17: model.stream: must be true or false, found a string`,
		"version: 1\nmodel: {timeout: 30}\n":                                                                             `2:18: model.timeout: "30" has no unit: write 30s for seconds`,
		"version: 1\nmodel: {timeout: 2 minutes}\n":                                                                      `2:18: model.timeout: "2 minutes" is not a duration: write it as "5s", "500ms" or "2m"`,
		"version: 1\nmodel: {timeout: -1s}\n":                                                                            `2:18: model.timeout: must be more than 0`,
		"version: 1\nmodel: {timeout: 48h}\n":                                                                            `2:18: model.timeout: must be from 1ms to 24h0m0s`,
		"version: 1\nmodel: {context_window: 0}\n":                                                                       `2:25: model.context_window: must be at least 1`,
		"version: 1\nmodel: {context_window: 99999999999999999999}\n":                                                    `2:25: model.context_window: the number is too large`,
		"version: 1\nmodel: {extra: {seed: 99999999999999999999}}\n":                                                     `2:23: model.extra["seed"]: the number is too large: put it in quotes if it is text`,
		"version: 1\nmodel: {retry: {attempts: 99}}\n":                                                                   `2:27: model.retry.attempts: must be from 1 to 20`,
		"version: 1\nmodel: {retry: {initial: 50s}}\n":                                                                   ``,
		"version: 1\nmodel: {retry: {initial: 50s, max: 1s}}\n":                                                          `2:26: model.retry.initial: is longer than model.retry.max`,
		"version: 1\nmodel: {fallback: []}\n":                                                                            ``,
		"version: 1\nmodel: {fallback: {}}\n":                                                                            `2:19: model.fallback: must be a list, found a mapping`,
		"version: 1\nmodel: {fallback: [{}]}\n":                                                                          `2:20: model.fallback[0]: is the first model again: write what differs, such as "name"`,
		"version: 1\nmodel: {fallback: [{nam: a}]}\n":                                                                    `2:21: model.fallback[0]: unknown field "nam", did you mean "name"?`,
		"version: 1\nmodel: {fallback: [{name: a, fallback: []}]}\n":                                                     `2:30: model.fallback[0]: unknown field "fallback"; there are name, base_url, api_key, context_window, temperature, max_output_tokens, stream, timeout, retry, prices, extra, compat`,
		"version: 1\nmodel: {fallback: [{base_url: h}]}\n":                                                               `2:31: model.fallback[0].base_url: must be an address such as "https://api.openai.com/v1"`,
		"version: 1\nmodel: {fallback: [{api_key: \"${NO_KEY}\"}]}\n":                                                    `2:30: model.fallback[0].api_key: the environment variable NO_KEY is not set: set it, or write ${NO_KEY:-default}`,
		"version: 1\nmodel: {fallback: [{api_key: \"a b\"}]}\n":                                                          `2:30: model.fallback[0].api_key: the key has a space, a line break or another character that no key has`,
		"version: 1\nmodel: {fallback: [{temperature: 3}, {timeout: 48h}, {max_output_tokens: 0}]}\n":                    "2:34: model.fallback[0].temperature: must be from 0 to 2\n2:48: model.fallback[1].timeout: must be from 1ms to 24h0m0s\n2:74: model.fallback[2].max_output_tokens: must be at least 1",
		"version: 1\nmodel: {retry: {max: 1s, initial: 1s}, fallback: [{retry: {initial: 2s}}]}\n":                       `2:59: model.fallback[0].retry: with what is inherited, initial is longer than max`,
		"version: 1\nmodel: {fallback: [{prices: {input: -1}}]}\n":                                                       `2:37: model.fallback[0].prices.input: must be from 0 to 1000000`,
		"version: 1\nmodel: {fallback: [{extra: {tools: []}}]}\n":                                                        `2:36: model.fallback[0].extra["tools"]: extra cannot replace what the host sends as "tools"`,
		"version: 1\nmodel: {extra: {n: 2, Stream: false, functions: []}}\n":                                             "2:20: model.extra[\"n\"]: extra cannot replace what the host sends as \"n\"\n2:31: model.extra[\"Stream\"]: extra cannot replace what the host sends as \"Stream\"\n2:49: model.extra[\"functions\"]: extra cannot replace what the host sends as \"functions\"",
		"version: 1\nmodel: {compat: {order: altrnate}}\n":                                                               `2:25: model.compat.order: unknown value "altrnate", did you mean "alternate"?`,
		"version: 1\nmodel: {compat: {reasoning: x, call_ids: long, system_role: admin, max_tokens: n, schemas: odd}}\n": "2:29: model.compat.reasoning: unknown value \"x\"; there are tool_turns, never, always\n2:42: model.compat.call_ids: unknown value \"long\"; there are any, short\n2:61: model.compat.system_role: unknown value \"admin\"; there are system, developer, user\n2:80: model.compat.max_tokens: unknown value \"n\"; there are max_tokens, max_completion_tokens\n2:92: model.compat.schemas: unknown value \"odd\"; there are full, plain",
		"version: 1\nmodel: {compat: {omit: [temperature, Messages]}}\n":                                                 `2:38: model.compat.omit[1]: a request has to have "Messages"`,
		"version: 1\nmodel: {extra: {a: .inf}}\n":                                                                        `2:20: model.extra["a"]: infinity cannot be used here: it is not a value of JSON`,

		"version: 1\nmodel: {extra: {model: a, messages: [], tools: [], stream: true}}\n": "2:24: model.extra[\"model\"]: extra cannot replace what the host sends as \"model\"\n2:37: model.extra[\"messages\"]: extra cannot replace what the host sends as \"messages\"\n2:48: model.extra[\"tools\"]: extra cannot replace what the host sends as \"tools\"\n2:60: model.extra[\"stream\"]: extra cannot replace what the host sends as \"stream\"",

		// The agent.
		"version: 1\nagent: {planner: reakt}\n":                                                        `2:18: agent.planner: unknown value "reakt", did you mean "react"?`,
		"version: 1\nagent: {early_stopping: generte}\n":                                               `2:25: agent.early_stopping: unknown value "generte", did you mean "generate"?`,
		"version: 1\nagent: {on_tool_error: ignore}\n":                                                 `2:24: agent.on_tool_error: unknown value "ignore"; there are feedback, fail`,
		"version: 1\nagent: {max_steps: -1}\n":                                                         `2:20: agent.max_steps: must be from 0 to 100000`,
		"version: 1\nagent: {max_steps: 1.5}\n":                                                        `2:20: agent.max_steps: must be a whole number, found a number`,
		"version: 1\nagent: {parallel_tool_calls: 0}\n":                                                `2:30: agent.parallel_tool_calls: must be at least 1`,
		"version: 1\nagent: {exit_conditions: []}\n":                                                   `2:26: agent.exit_conditions: the list is empty: leave it out for the default`,
		"version: 1\nagent: {exit_conditions: text}\n":                                                 `2:26: agent.exit_conditions: must be a list, found a string`,
		"version: 1\nagent: {exit_conditions: [text, text]}\n":                                         `2:33: agent.exit_conditions[1]: "text" is there twice`,
		"version: 1\nagent: {breakpoints: []}\n":                                                       "2:9: agent: \"breakpoints\" is not supported yet",
		"version: 1\nagent: {tool_search_over: -1}\n":                                                  "2:27: agent.tool_search_over: must be from 0 to 100000",
		"version: 1\nagent: {output: {}}\n":                                                            `2:17: agent.output: the field "schema" is missing: it says what the value is`,
		"version: 1\nagent: {output: {schema: {type: array}, strategy: tools, attempts: 21}}\n":        "2:26: agent.output.schema: must be a JSON Schema of an object: write \"type: object\", with the value in a field of it\n2:51: agent.output.strategy: unknown value \"tools\", did you mean \"tool\"?\n2:68: agent.output.attempts: must be from 1 to 20",
		"version: 1\nagent:\n  planner: react\n  output: {schema: {type: object}, strategy: native}\n": "4:46: agent.output.strategy: native needs the planner tools: write prompt or auto",
		"version: 1\nagent:\n  exit_conditions: [done]\n  output: {schema: {type: object}}\n":          `4:11: agent.output: no reply ends the run here, so none can be its output: add "text" to agent.exit_conditions`,
		"version: 1\nagent: {output: {schema: [], attempts: 0}}\n":                                     "2:26: agent.output.schema: must be a mapping, found a list\n2:40: agent.output.attempts: must be at least 1",

		// The tools.
		"version: 1\ntools:\n  - name: a\n":                       `3:5: tools[0]: the field "module" is missing`,
		"version: 1\ntools:\n  - module: tools/none.wasm\n":       `3:13: tools[0].module: no such file: "tools/none.wasm"`,
		"version: 1\ntools:\n  - module: tools\n":                 `3:13: tools[0].module: not a file: "tools"`,
		"version: 1\ntools:\n  - module: oci://ghcr.io/a/b:c\n":   `3:13: tools[0].module: a module from a registry or an address is not supported yet; use a file`,
		"version: 1\ntools:\n  - module: https://a/b.wasm\n":      `3:13: tools[0].module: a module from a registry or an address is not supported yet; use a file`,
		"version: 1\ntools:\n  - module: http://a/b.wasm\n":       `3:13: tools[0].module: a module is a file`,
		oneTool + "    sha256: abc\n":                             `4:13: tools[0].sha256: must be 64 hexadecimal digits`,
		oneTool + "    abi: wasm\n":                               `4:10: tools[0].abi: unknown value "wasm", did you mean "wasi"?`,
		oneTool + "    abi: wasi\n    export: f\n":                `5:13: tools[0].export: is for plain Extism modules, and abi is wasi`,
		oneTool + "    input: xml\n":                              `4:12: tools[0].input: unknown value "xml"; there are json, text`,
		oneTool + "    name: a.b\n":                               `4:11: tools[0].name: "a.b" is not a name: at most 64 letters, digits, _ and -, and no digit or - first`,
		oneTool + "    tools: [a, a]\n":                           `4:16: tools[0].tools[1]: "a" is there twice`,
		oneTool + "    rename: {a: c, b: c}\n":                    `4:23: tools[0].rename["b"]: "c" is already the new name of "a"`,
		oneTool + "    tools: [a]\n    rename: {b: c}\n":          `5:17: tools[0].rename["b"]: "b" is not in the list tools, so the model does not see it`,
		oneTool + "    parameters: {type: array}\n":               `4:17: tools[0].parameters: must be a JSON Schema of an object: write "type: object"`,
		oneTool + "    instances: sesion\n":                       `4:16: tools[0].instances: unknown value "sesion", did you mean "session"?`,
		oneTool + "    abi: wasi\n    instances: session\n":       `5:16: tools[0].instances: session is not for programs (abi: wasi): a program ends after each call and keeps nothing`,
		oneTool + "    isolation: proces\n":                       `4:16: tools[0].isolation: unknown value "proces", did you mean "process"?`,
		oneTool + "    inputs_from_state: {a: b}\n":               `4:28: tools[0].inputs_from_state["a"]: the run's state has no key "a": declare it in agent.state`,
		"version: 1\nagent: {on_parse_error: feedbak}\n":          `2:25: agent.on_parse_error: unknown value "feedbak", did you mean "feedback"?`,
		"version: 1\nagent: {on_parse_error: ignore}\n":           `2:25: agent.on_parse_error: unknown value "ignore"; there are feedback, fail, {text: …}, {module: …}`,
		"version: 1\nagent: {on_parse_error: {config: {a: 1}}}\n": `2:34: agent.on_parse_error.config: is for a module, and there is none: give it as module`,
		"version: 1\nagent: {on_parse_error: {texte: a}}\n":       `2:26: agent.on_parse_error: unknown field "texte", did you mean "text"?`,
		"version: 1\nagent: {on_parse_error: [a]}\n":              `2:25: agent.on_parse_error: must be feedback, fail, {text: …} or {module: …}, found a list`,
		"version: 1\nagent: {on_parse_error: true}\n":             `2:25: agent.on_parse_error: must be feedback, fail, {text: …} or {module: …}, found true or false`,

		// A field that is one of several things, and none of them.
		"version: 1\nagent: {on_parse_error: {}}\n":                                      `2:25: agent.on_parse_error: is empty: write feedback, fail, {text: …} or {module: …}`,
		"version: 1\nagent: {on_parse_error: }\n":                                        `2:24: agent.on_parse_error: is empty: write feedback, fail, {text: …} or {module: …}`,
		"version: 1\nagent: {on_parse_error: null}\n":                                    `2:25: agent.on_parse_error: is empty: write feedback, fail, {text: …} or {module: …}`,
		"version: 1\nagent: {on_parse_error: \"\"}\n":                                    `2:25: agent.on_parse_error: is empty: write feedback, fail, {text: …} or {module: …}`,
		"version: 1\nagent: {on_parse_error: {text: \"\"}}\n":                            `2:32: agent.on_parse_error.text: is empty: write what the model is told`,
		"version: 1\nagent: {on_parse_error: {text: \" \"}}\n":                           `2:32: agent.on_parse_error.text: is empty: write what the model is told`,
		"version: 1\nagent: {on_parse_error: {text: null}}\n":                            `2:32: agent.on_parse_error.text: must be a string, found nothing`,
		"version: 1\nagent: {on_parse_error: {module: \"\"}}\n":                          `2:34: agent.on_parse_error.module: is empty: write the path of a module`,
		"version: 1\nagent: {on_parse_error: {module: null}}\n":                          `2:34: agent.on_parse_error.module: must be a string, found nothing`,
		"version: 1\nagent: {on_parse_error: {text: a, module: tools/a.wasm}}\n":         `2:25: agent.on_parse_error: there is a text and a module: give one of them`,
		"version: 1\nagent: {on_parse_error: {text: a, module: \"\"}}\n":                 `2:25: agent.on_parse_error: there is a text and a module: give one of them`,
		"version: 1\nagent: {on_parse_error: {config: {}}}\n":                            `2:34: agent.on_parse_error.config: is for a module, and there is none: give it as module`,
		"version: 1\nagent: {on_parse_error: {text: a, config: {}}}\n":                   `2:43: agent.on_parse_error.config: is for a module, and there is none: give it as module`,
		"version: 1\nagent: {planner: \"\"}\n":                                           `2:18: agent.planner: unknown value ""; there are tools, react, json`,
		"version: 1\nmodel: {provider: \"\"}\n":                                          `2:19: model.provider: unknown value ""; there are openai, replay`,
		"version: 1\nname: \"\"\n":                                                       `2:7: name: "" is not a name: at most 64 letters, digits, _ and -, and no digit or - first`,
		"version: 1\ntools:\n  - module: \"\"\n":                                         `3:13: tools[0].module: is empty: write the path of a module`,
		"version: 1\ntools:\n  - module: null\n":                                         `3:13: tools[0].module: must be a string, found nothing`,
		"version: 1\ntools:\n  - agent: \"\"\n":                                          `3:12: tools[0].agent: is empty: write the path of a manifest`,
		"version: 1\ntools:\n  - null\n":                                                 `3:5: tools[0]: the field "module" is missing`,
		oneTool + "    agent: \"\"\n":                                                    `4:12: tools[0].agent: is empty: write the path of a manifest`,
		oneTool + "    sha256: \"\"\n":                                                   `4:13: tools[0].sha256: must be 64 hexadecimal digits`,
		oneTool + "    abi: \"\"\n":                                                      `4:10: tools[0].abi: unknown value ""; there are auto, wagent, extism, wasi`,
		oneTool + "    name: \"\"\n":                                                     `4:11: tools[0].name: "" is not a name: at most 64 letters, digits, _ and -, and no digit or - first`,
		oneTool + "    allow: {clock: \"\"}\n":                                           `4:20: tools[0].allow.clock: is empty: write real, coarse or "fixed:" and a time`,
		oneTool + "    allow: {random: \"\"}\n":                                          `4:21: tools[0].allow.random: is empty: write real or "seed:" and a number`,
		"version: 1\nagent: {state: {notes: {merge: apend}}}\n":                          `2:32: agent.state["notes"].merge: unknown value "apend", did you mean "append"?`,
		"version: 1\nagent: {state: {notes: {merge: append, schema: {type: object}}}}\n": `2:32: agent.state["notes"].merge: append makes a list, and the type of the schema is "object"`,
		"version: 1\nagent: {state: {messages: {}}}\n":                                   `2:27: agent.state["messages"]: "messages" is kept by the host and cannot be a key of the state`,
		"version: 1\nagent: {state: {a b: {}}}\n":                                        `2:22: agent.state["a b"]: "a b" is not a name: at most 64 letters, digits, _ and -, and no digit or - first`,
		oneTool + "    limits: {kv: 257MiB}\n":                                           "4:18: tools[0].limits.kv: must be from 1B to 256MiB",
		oneTool + "    limits: {kv: true}\n":                                             "4:18: tools[0].limits.kv: must be a size such as \"64MiB\", found true or false",
		oneTool + "    limits: {fuel: 5Gi}\n":                                            "4:20: tools[0].limits.fuel: \"5Gi\" is not a number of units of work: write it as \"5G\" or \"200M\"",
		oneTool + "    limits: {fuel: 0}\n":                                              "4:20: tools[0].limits.fuel: must be more than 0",
		oneTool + "    limits: {fuel: [1]}\n":                                            "4:20: tools[0].limits.fuel: must be a number of units of work such as \"5G\", found a list",
		oneTool + "    allow: {kv: 1MiB}\n":                                              `4:17: tools[0].allow.kv: must be true or false, found a string`,
		oneTool + "    allow: {kv: [state]}\n":                                           `4:17: tools[0].allow.kv: must be true or false, found a list`,
		oneTool + "    limits: {memry: 1MiB}\n":                                          `4:14: tools[0].limits: unknown field "memry", did you mean "memory"?`,
		oneTool + "    limits: {memory: 64Mib}\n":                                        `4:22: tools[0].limits.memory: "64Mib" is not a size: did you mean "64MiB"?`,
		oneTool + "    limits: {memory: 64M}\n":                                          `4:22: tools[0].limits.memory: "64M" is not a size: did you mean "64MB"?`,
		oneTool + "    limits: {memory: lots}\n":                                         `4:22: tools[0].limits.memory: "lots" is not a size: write it as "64MiB" or "8KB"`,
		oneTool + "    limits: {memory: 0}\n":                                            `4:22: tools[0].limits.memory: must be more than 0`,
		oneTool + "    limits: {memory: 1KiB}\n":                                         `4:22: tools[0].limits.memory: must be from 64KiB to 4GiB`,
		oneTool + "    limits: {memory: 99999999TiB}\n":                                  `4:22: tools[0].limits.memory: "99999999TiB" is too large`,
		oneTool + "    limits: {memory: true}\n":                                         `4:22: tools[0].limits.memory: must be a size such as "64MiB", found true or false`,
		oneTool + "    limits: {memory:}\n":                                              `4:21: tools[0].limits.memory: must be a size such as "64MiB", found nothing`,
		oneTool + "    limits: {timeout: 0s}\n":                                          `4:23: tools[0].limits.timeout: must be more than 0`,
		oneTool + "    limits: {http_requests: 0}\n":                                     `4:29: tools[0].limits.http_requests: must be at least 1`,
		oneTool + "    limits: {files: {open: 99999}}\n":                                 `4:28: tools[0].limits.files.open: must be from 1 to 10000`,
		oneTool + "    allow: {http: [{host: \"ftp://h\"}]}\n":                           `4:20: tools[0].allow.http[0]: host "ftp://h": the scheme is http or https`,
		oneTool + "    allow: {http: [api.github.com]}\n":                                "4:20: tools[0].allow.http[0]: must be a mapping, found a string",
		oneTool + "    allow: {read: {./none: /docs}}\n":                                 `4:28: tools[0].allow.read["DIR/none"]: no such folder: "none"`,
		oneTool + "    allow: {read: {run.jsonl: /docs}}\n":                              `4:31: tools[0].allow.read["DIR/run.jsonl"]: not a folder: "run.jsonl"`,
		oneTool + "    allow: {read: {docs: docs}}\n":                                    `4:26: tools[0].allow.read["DIR/docs"]: a guest folder begins with "/"`,
		oneTool + "    allow: {read: {docs: /a}, write: {out: /a/}}\n":                   `4:44: tools[0].allow.write["DIR/out"]: the guest folder "/a" is given twice, also at allow.read["DIR/docs"]`,
		oneTool + "    allow: {read: [docs]}\n":                                          `4:19: tools[0].allow.read: must be a mapping, found a list`,
		oneTool + "    allow: {env: {PORT: 80}}\n":                                       `4:25: tools[0].allow.env["PORT"]: must be a string, found a number: put it in quotes`,
		oneTool + "    allow: {env: {\"A=B\": c}}\n":                                     `4:26: tools[0].allow.env["A=B"]: a variable's name has letters, digits and _`,
		oneTool + "    allow: {clock: now}\n":                                            `4:20: tools[0].allow.clock: a clock is "real", "coarse", or "fixed:" and a time`,
		oneTool + "    allow: {random: 42}\n":                                            `4:21: tools[0].allow.random: must be a string, found a number: put it in quotes`,
		oneTool + "    config: {a: [\"${NO}\"]}\n":                                       `4:18: tools[0].config["a"][0]: the environment variable NO is not set: set it, or write ${NO:-default}`,
		oneTool + "    config: {a: 1, a: 2}\n":                                           `4:20: tools[0].config: the field "a" is there twice`,
	} {
		m, err := Parse([]byte(src), filepath.Join(dir, "wagent.yaml"), noEnv)
		if (err == nil) != (m != nil) {
			t.Errorf("%s: a manifest and an error", src)
		}
		if err == nil {
			err = m.Check()
		}
		var got []string
		for line := range strings.Lines(messages(err, dir)) {
			got = append(got, strings.TrimPrefix(strings.TrimSuffix(line, "\n"), "wagent.yaml:"))
		}
		want := strings.ReplaceAll(want, "DIR", dir)
		if diff := cmp.Diff(strings.ReplaceAll(want, dir+"/", ""), strings.Join(got, "\n")); diff != "" {
			t.Errorf("%s%s", src, diff)
		}
		if fault := (*Error)(nil); err != nil && !errors.As(err, &fault) {
			t.Errorf("%s: %T", src, err)
		}
	}
}

func TestListsOfNamesAreBounded(t *testing.T) {
	dir := folder(t)
	var list, pairs strings.Builder
	for i := range 1001 {
		fmt.Fprintf(&list, "n%d, ", i)
		fmt.Fprintf(&pairs, "n%d: m%d, ", i, i)
	}
	names := strings.TrimSuffix(list.String(), ", ")
	src := "version: 1\nagent:\n  exit_conditions: [" + names + "]\ntools:\n  - module: tools/wordcount.wasm\n    tools: [" + names + "]\n    rename: {" + strings.TrimSuffix(pairs.String(), ", ") + "}\n"
	_, err := Parse([]byte(src), filepath.Join(dir, "wagent.yaml"), noEnv)
	want := "wagent.yaml:3:20: agent.exit_conditions: more than 1000 names\nwagent.yaml:6:12: tools[0].tools: more than 1000 names\nwagent.yaml:7:13: tools[0].rename: more than 1000 names"
	if diff := cmp.Diff(want, messages(err, dir)); diff != "" {
		t.Error(diff)
	}
}

// A manifest made in Go has no places to sort its faults by.
func TestFaultsWithoutAPlaceAreAlwaysInTheSameOrder(t *testing.T) {
	m := &Manifest{Dir: folder(t), Tools: []Tool{{Module: "tools/wordcount.wasm", ABI: "wasi", Export: "f", Input: "text"}}}
	want := "tools[0].export: is for plain Extism modules, and abi is wasi\ntools[0].input: is for plain Extism modules, and abi is wasi"
	for range 50 {
		if diff := cmp.Diff(want, m.Check().Error()); diff != "" {
			t.Fatal(diff)
		}
	}
}

func TestAllFaultsAreToldInTheOrderOfTheFile(t *testing.T) {
	src := "version: 3\nname: 1\nagnet: {}\nmodel: {stream: 1}\ntools:\n  - modul: a.wasm\n  - module: b.wasm\n    limits: {memory: x, timeout: y}\n"
	_, err := Parse([]byte(src), "wagent.yaml", noEnv)
	want := `wagent.yaml:1:10: version: this version of the format is not known: write 1
wagent.yaml:2:7: name: must be a string, found a number: put it in quotes
wagent.yaml:3:1: unknown field "agnet", did you mean "agent"?
wagent.yaml:4:17: model.stream: must be true or false, found a number
wagent.yaml:6:5: tools[0]: unknown field "modul", did you mean "module"?
wagent.yaml:7:13: tools[1].module: no such file: "b.wasm"
wagent.yaml:8:22: tools[1].limits.memory: "x" is not a size: write it as "64MiB" or "8KB"
wagent.yaml:8:34: tools[1].limits.timeout: "y" is not a duration: write it as "5s", "500ms" or "2m"`
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Error(diff)
	}
}

// TestOneWrongLetterInAnyFieldIsAnError changes every field's name of a full
// manifest, one letter at a time.
func TestOneWrongLetterInAnyFieldIsAnError(t *testing.T) {
	dir := folder(t)
	path := filepath.Join(dir, "wagent.yaml")
	full := string(example(t, "full.yaml"))
	known := map[string]bool{}
	for _, types := range allFields() {
		for _, name := range types {
			known[name] = true
		}
	}
	tried := 0
	for name := range known {
		for at := range strings.Count(full, name+":") {
			i := nth(full, name+":", at)
			if i > 0 && strings.ContainsRune("abcdefghijklmnopqrstuvwxyz_", rune(full[i-1])) {
				continue
			}
			if line := full[strings.LastIndexByte(full[:i], '\n')+1 : i]; strings.Contains(line, "parameters") || strings.Contains(line, "properties") || strings.Contains(line, "config") || strings.Contains(line, "extra") || strings.Contains(line, "env:") {
				continue // what is in these is the author's
			}
			for j := range name {
				letter := byte('q')
				if name[j] == 'q' {
					letter = 'z'
				}
				wrong := full[:i+j] + string(letter) + full[i+j+1:]
				tried++
				if _, err := Parse([]byte(wrong), path, noEnv); err == nil {
					t.Errorf("%q with letter %d changed is accepted", name, j)
				}
			}
		}
		if !strings.Contains(full, name+":") {
			t.Errorf("the full manifest has no field %q", name)
		}
	}
	if tried < 300 {
		t.Errorf("only %d letters were tried", tried)
	}
}

func nth(s, sub string, n int) int {
	at := 0
	for {
		i := strings.Index(s[at:], sub)
		if n == 0 || i < 0 {
			return at + i
		}
		at, n = at+i+len(sub), n-1
	}
}

func TestATextThatIsABombIsRefusedInTime(t *testing.T) {
	// The YAML library alone needs from many seconds to hours of a processor for most of
	// these. With the guard each takes some milliseconds; the rest is for the lexer under
	// the race detector. How busy the machine is makes no difference to that.
	const longest = 5 * time.Second
	laughs := "version: 1\nmodel:\n  extra:\n    a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := range 9 {
		a, b := string(rune('1'+i)), string(rune('0'+i))
		laughs += "    a" + a + ": &a" + a + " [" + strings.TrimSuffix(strings.Repeat("*a"+b+", ", 10), ", ") + "]\n"
	}
	deep := "version: 1\nmodel:\n  extra:\n"
	for i := range 500 {
		deep += strings.Repeat(" ", 4+i) + "a:\n"
	}
	const most = maxBytes - 100
	rep := func(s string, n int) string { return strings.Repeat(s, n/len(s)) }
	bombs := map[string]string{
		"a billion laughs":         laughs,
		"an anchor in itself":      "version: 1\nmodel:\n  extra: &a {b: *a}\n",
		"anchors in a circle":      "version: 1\nmodel:\n  extra: {x: &a [*b], y: &b [*a]}\n",
		"many anchors":             rep("&a ", most),
		"anchors in anchors":       "version: 1\nname: " + rep("&a ", 900) + "x\n",
		"brackets":                 "version: 1\nmodel: " + rep("[", most),
		"braces":                   "version: 1\nmodel: " + rep("{a: ", most),
		"lists in a line":          "tools:\n" + rep("- ", most),
		"keys in a line":           rep("? ", most),
		"colons":                   rep(": ", most),
		"keys":                     rep("a: ", most),
		"deep by indentation":      deep,
		"literals":                 rep("|\n", most),
		"entries":                  "tools:\n" + rep("- a\n", 70_000),
		"tags":                     rep("!!a ", most),
		"documents":                rep("---\n", most),
		"aliases":                  rep("*a ", most),
		"commas":                   "a: [" + rep(",", most),
		"quotes":                   rep("'", most),
		"lines":                    rep("\n", most),
		"nothing but list entries": "tools:\n" + rep("-\n", 19_000),
		"nothing but keys":         rep("a:\n", 29_000),
		"larger than the bound":    "version: 1\nname: " + rep("a", 2<<20),
	}
	for _, unit := range []string{"[a, ", "{a: b, ", ": ", "*a ", "a: b, ", "'a' ", "{a: ", "? a\n", "a: |\n b\n", "- a: b\n", "-\n", "a: 'x'\n", "&a x\n", "[]\n", ", "} {
		bombs["just below the bounds, "+unit] = rep(unit, (maxLines-1)*len(unit)/(1+strings.Count(unit, "\n")))
	}
	for name, src := range bombs {
		t.Run(name, func(t *testing.T) {
			start := testkit.CPU(t)
			_, err := Parse([]byte(src), "wagent.yaml", noEnv)
			took := testkit.CPU(t) - start
			if took > longest {
				t.Errorf("took %v", took)
			}
			if err == nil {
				t.Error("accepted")
			} else if len(err.Error()) > 64<<10 {
				t.Errorf("an error of %d bytes", len(err.Error()))
			} else {
				t.Logf("%v: %.150s", took.Round(time.Millisecond), err)
			}
		})
	}
}

func TestALargeHonestManifestIsReadInTime(t *testing.T) {
	dir := folder(t)
	var b strings.Builder
	b.WriteString("version: 1\nagent:\n  system_prompt: |\n" + strings.Repeat("    You are a helper that reads carefully.\n", 2000) + "tools:\n")
	for range 500 {
		b.WriteString("  - module: tools/wordcount.wasm\n    description: Counts words.\n    limits: {memory: 8MiB, timeout: 1s}\n    allow:\n      http:\n        - {host: api.github.com, methods: [GET], paths: [\"/a/**\"]}\n      read: {./docs: /docs}\n")
	}
	start := testkit.CPU(t)
	m, err := Parse([]byte(b.String()), filepath.Join(dir, "wagent.yaml"), noEnv)
	if err != nil || len(m.Tools) != 500 {
		t.Fatalf("%.500v", err)
	}
	took := testkit.CPU(t) - start
	if took > 10*time.Second { // as above
		t.Errorf("took %v", took)
	}
	t.Log(took)
}
