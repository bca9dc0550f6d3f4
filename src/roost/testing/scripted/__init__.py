"""A scripted agent: does what its prompts, or a script, say; right or wrong, in version 1 or 2 of the protocol.

    python -m roost.testing.scripted [OPTION …] [SCRIPT]

It answers every request as a plain agent would. A prompt is a list of steps, one on a line; SCRIPT, a JSON file (or the
JSON itself), gives steps for any message of the client: {"session/new": ["sleep 1", "answer"], "start": ["exit 3"]}.
`answer` is where the usual answer goes, at the end when it is not there. Keys are methods, `start`, and `end` of input.

Options
  --v1, --v2           speak that version whatever is asked; without either the client's version is spoken
  --claim JSON         say this protocol version at initialize
  --load, --resume     version 1: sessions can be loaded, resumed (version 2 always resumes)
  --store DIR          keep sessions here, so that another process can resume them
  --split N            write N bytes at a time
  --ignore-term        survive SIGTERM and the end of input
  --capabilities JSON  more agent capabilities
  --info NAME          what it calls itself; scripted by default
  --auth JSON          its auth methods, in the form of the version it speaks
  --gated              sessions need a login by one of them; with --store it is kept there, as sessions are

Steps
  text WORDS · thought WORDS · chunks N SIZE     messages of the agent; many at once
  tool ID STATUS WORDS · plan WORDS              a tool call, a plan of one entry
  update JSON                                    any session/update payload
  permission [WORDS] · request METHOD [JSON]     ask and wait; what came is said
  begin NAME METHOD [JSON] · finish NAME         ask; wait and say what came. "$terminal" in JSON: the latest one's id
  raw WORDS · bytes HEX · garbage N · long N     on standard output as it is: words, bytes, N lines, a line of N bytes
  stdout N · stderr N                            N bytes of something that is no message
  sleep SECONDS · wait cancel · stall            go on later; when cancelled; never, and read nothing
  silent                                         answer nothing any more
  child N                                        start N processes, each with one of its own; their pids are said
  ignore-term · exit CODE · kill SIGNAL          the end, or not
  stop REASON · error CODE WORDS · no-idle       how a prompt ends: a reason, an error (version 1), not at all
  note WORDS                                     a line on standard error

After a cancel only `stop`, `text` and `note` are still done. It needs only the standard library and imports little of
it, so that a test can start many.
"""
