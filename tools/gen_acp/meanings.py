"""By hand: what each type means, in one line of our own. They become the first line of the generated docstrings."""

from __future__ import annotations

from typing import Final

_TEXT: Final = """
SessionId                      Names a session; the agent chooses it and nobody else reads anything into it.
MessageId                      Names a message within its session; the agent chooses it.
ToolCallId                     Names a tool call within its session.
TerminalId                     Names a terminal within its session.
PlanId                         Names a plan within its session.
PermissionOptionId             Names one choice of one permission request.
ElicitationId                  Names a URL elicitation until it is complete.
SessionConfigId                Names a setting of a session.
SessionConfigValueId           Names a value a select setting can take.
SessionConfigGroupId           Names a group of values of a select setting.
SessionListCursor              Where the next page of sessions starts; never parsed and never kept.
AuthMethodId                   Names a way to log in.
ProviderId                     Names a model endpoint of an agent.
McpServerAcpId                 Names an MCP server the client hosts and reaches over ACP.
McpConnectionId                Names one open MCP channel over ACP.
NesSuggestionId                Names one edit suggestion.
AbsolutePath                   A path that starts at the root of the agent's machine; the codec does not check that.
MediaType                      A MIME type.
ProtocolVersion                The number of a protocol version.
RequestId                      A JSON-RPC id: null, an integer or a string, all distinct (ID-1).
ErrorCode                      Error codes with a meaning in this protocol.
Error                          Why a request failed.
CancelRequestNotification      Takes back a request the sender made; the answer still comes, often as an error.
ExtRequest                     Params of a request outside the protocol, whose method starts with `_`.
ExtResponse                    Result of such a request.
ExtNotification                Params of a notification outside the protocol.
Role                           Whom a piece of content is meant for.
Annotations                    Hints on how to show a piece of content.
IconTheme                      The background an icon is drawn for.
Icon                           A picture that stands for a resource.
TextResourceContents           A resource's text, carried in the message.
BlobResourceContents           A resource's bytes in base64, carried in the message.
EmbeddedResourceResource       The carried resource: text before bytes when both are there.
TextContent                    Text, usually Markdown.
ImageContent                   An image in base64.
AudioContent                   A sound in base64.
ResourceLink                   A pointer to something the receiver can fetch itself.
EmbeddedResource               A resource with its contents.
ContentBlock                   One piece of a message, a prompt or a tool's result.
DiffFileType                   What kind of file a change is about.
DiffPatchFormat                How a patch is written.
DiffPatch                      The changes as one patch text.
DiffPathChange                 A change to the file at `path`.
DiffPathPairChange             A change that takes a file from `old_path` to `path`.
DiffAdd                        A file was added.
DiffDelete                     A file was deleted.
DiffModify                     A file's contents changed.
DiffMove                       A file was moved.
DiffCopy                       A file was copied.
DiffChange                     What happened to one file.
Diff                           Changes to files, with a patch when there is one.
Terminal                       Shows a terminal inside a tool call.
TerminalOutput                 All output of a terminal so far, bytes in base64.
TerminalExitStatus             How a terminal's command ended; being there at all means it did.
TerminalUpdate                 Creates or patches a terminal: what is omitted stays, null clears.
TerminalOutputChunk            More output of a terminal, bytes in base64, appended.
ToolKind                       What a tool call is for, so that a client can pick an icon.
ToolCallStatus                 How far a tool call is.
ToolCallLocation               A file a tool call looks at or changes, to follow along.
Content                        A content block as part of a tool call.
ToolCallContent                One piece of what a tool call shows.
ToolCallUpdate                 Creates or patches a tool call: what is omitted stays, null clears.
SessionToolCallUpdate          The tool call patch as a session update.
ToolCallContentChunk           One more piece of content of a tool call, appended.
PlanEntryPriority              How much an entry of a plan matters.
PlanEntryStatus                How far an entry of a plan is.
PlanEntry                      One step of a plan.
PlanItems                      A plan as a list of steps.
PlanFile                       A plan kept in a file.
PlanMarkdown                   A plan as Markdown.
PlanUpdateContent              A whole plan, in one of its forms.
PlanUpdate                     Sets a plan; what it was before is gone.
PlanRemoved                    A plan is no longer there.
ContentChunk                   More content of a message, appended; the first one creates it.
UserMessageChunk               More of what the user said.
AgentMessageChunk              More of what the agent says.
AgentThoughtChunk              More of what the agent thinks.
UserMessage                    Creates or patches a message of the user.
AgentMessage                   Creates or patches a message of the agent.
AgentThought                   Creates or patches a thought of the agent.
StopReason                     Why the agent stopped working.
Usage                          Tokens spent.
RunningStateUpdate             The session works on something.
IdleStateUpdate                The session is ready for a prompt; with a stop reason, work just ended.
RequiresActionStateUpdate      The session waits for the user.
StateUpdate                    What the session is doing. An unknown state is never idle (FWD-7).
SessionConfigOptionCategory    What a setting is about, so that a client can place it.
SessionConfigSelectOption      One value of a select setting.
SessionConfigSelectGroup       Values of a select setting under a heading.
SessionConfigSelectOptions     The values of a select setting, plain or in groups, never mixed.
SessionConfigSelect            A setting with one value out of several.
SessionConfigBoolean           A setting that is on or off.
SessionConfigOption            A setting of a session and its current value.
ConfigOptionUpdate             All settings of the session, as they are now.
SetSessionConfigIdRequest      Picks a value of a select setting.
SetSessionConfigBooleanRequest Turns a boolean setting on or off.
SetSessionConfigOptionRequest  Changes one setting.
SetSessionConfigOptionResponse All settings after the change.
TextCommandInput               A command that takes the rest of the line as text.
AvailableCommandInput          What a command expects after its name.
AvailableCommand               A slash command the user can type.
AvailableCommandsUpdate        All slash commands, as they are now.
SessionInfoUpdate              Patches what a session list shows: what is omitted stays, null clears.
Cost                           Money spent.
UsageUpdate                    How full the context is, and what the session has cost.
SessionUpdate                  One observable change of a session.
UpdateSessionNotification      Tells the client of one change of a session.
EnvVariable                    A variable of a program's environment; its value may be a secret (SEC-2).
HttpHeader                     A header of an HTTP request; its value may be a secret (SEC-2).
McpServerHttp                  An MCP server reached over HTTP.
McpServerStdio                 An MCP server the agent starts and talks to over stdio.
McpServerAcp                   An MCP server the client hosts, reached over this connection.
McpServer                      An MCP server a session may use.
ConnectMcpRequest              Opens a channel to an MCP server the client hosts.
ConnectMcpResponse             The channel that was opened.
DisconnectMcpRequest           Closes a channel.
DisconnectMcpResponse          The channel is closed.
MessageMcpRequest              An MCP request inside an ACP request.
MessageMcpResponse             The result of the inner MCP request, any JSON.
MessageMcpNotification         An MCP notification inside an ACP notification.
NewSessionRequest              Creates a session bound to a directory.
NewSessionResponse             The new session.
SessionInfo                    A session as a list shows it.
ListSessionsRequest            Asks for the known sessions, a page at a time.
ListSessionsResponse           One page of sessions.
ReplayFromStart                Replay everything.
ReplayFrom                     Where a resumed session's replay starts; none means no replay.
ResumeSessionRequest           Attaches to an existing session.
ResumeSessionResponse          The session is attached, and all that was asked for has been replayed.
ForkSessionRequest             Creates a session that starts with another one's context.
ForkSessionResponse            The new session.
CloseSessionRequest            Stops a session's work and frees what it holds; its history stays.
CloseSessionResponse           The session is closed.
DeleteSessionRequest           Removes a session from the list.
DeleteSessionResponse          The session is gone.
PromptRequest                  Gives the agent a message to work on.
PromptResponse                 The message was accepted; the work's end is told by a state update.
CancelSessionNotification      Stops whatever a session is working on.
PermissionOptionKind           What choosing an option means, so that a client can pick an icon or a key.
PermissionOption               One choice offered to the user.
ToolCallPermissionSubject      The permission is about a tool call.
CommandPermissionSubject       The permission is about a command line.
RequestPermissionSubject       What the permission is about.
RequestPermissionRequest       Asks the user whether something may be done.
CancelledPermissionOutcome     The work was cancelled before the user chose.
SelectedPermissionOutcome      The user chose an option.
RequestPermissionOutcome       How a permission request ended. An unknown outcome permits nothing (FWD-9).
RequestPermissionResponse      The answer to a permission request.
StringFormat                   A format a string field asks for.
EnumOption                     A value with a title.
StringPropertySchema           A text field, or a choice of texts.
NumberPropertySchema           A number field.
IntegerPropertySchema          A whole number field.
BooleanPropertySchema          A yes-or-no field.
StringMultiSelectItems         The texts a multiple choice offers.
TitledMultiSelectItems         The texts a multiple choice offers, with titles.
TaggedMultiSelectItems         The choices that name their type.
MultiSelectItems               What a multiple choice offers.
MultiSelectPropertySchema      A multiple choice field.
ElicitationPropertySchema      One field of a form.
ElicitationSchemaType          The type of a form: always an object.
ElicitationSchema              A form: its fields and which of them must be filled in.
ElicitationContentValue        The value of one form field.
ElicitationSessionScope        The elicitation belongs to a session, perhaps to one of its tool calls.
ElicitationRequestScope        The elicitation belongs to a request that is being answered, such as a login.
CreateFormElicitationRequest   Asks the user to fill in a form.
CreateUrlElicitationRequest    Asks the user to visit a URL; what happens there stays between the user and it.
CreateElicitationRequest       Asks the user for something.
AcceptElicitationResponse      The user agreed; for a form, with these values.
DeclineElicitationResponse     The user said no.
CancelElicitationResponse      The user closed the question without an answer.
CreateElicitationResponse      How an elicitation ended. An unknown action agrees to nothing (FWD-9).
CompleteElicitationNotification What was asked for by URL has been done.
AuthEnvVar                     An environment variable a login needs.
AuthMethodEnvVar               Log in by starting the agent with environment variables set.
AuthMethodTerminal             Log in by running the agent in a terminal.
AuthMethodAgent                Log in by asking the agent to do it.
AuthMethod                     A way to log in.
LoginAuthRequest               Logs in by one of the offered methods.
LoginAuthResponse              The login is done.
LogoutAuthRequest              Logs out.
LogoutAuthResponse             Nobody is logged in any more.
PositionEncodingKind           What one character of a position counts.
TextDocumentSyncKind           Whether document changes carry the whole text or edits.
NesDocumentDidOpenCapabilities The agent wants to hear of opened documents.
NesDocumentDidChangeCapabilities The agent wants to hear of changed documents, in this form.
NesDocumentDidCloseCapabilities The agent wants to hear of closed documents.
NesDocumentDidSaveCapabilities The agent wants to hear of saved documents.
NesDocumentDidFocusCapabilities The agent wants to hear which document the user looks at.
NesDocumentEventCapabilities   The document events the agent wants.
NesEventCapabilities           The events the agent wants.
NesRecentFilesCapabilities     The agent wants recently visited files, at most this many.
NesRelatedSnippetsCapabilities The agent wants related code.
NesEditHistoryCapabilities     The agent wants recent edits, at most this many.
NesUserActionsCapabilities     The agent wants recent actions of the user, at most this many.
NesOpenFilesCapabilities       The agent wants the open files.
NesDiagnosticsCapabilities     The agent wants diagnostics.
NesContextCapabilities         The context the agent wants with each request for suggestions.
NesCapabilities                The agent suggests edits.
NesJumpCapabilities            The client can jump to a place.
NesRenameCapabilities          The client can rename a symbol.
NesSearchAndReplaceCapabilities The client can search and replace.
ClientNesCapabilities          The suggestions the client can carry out, beyond plain edits.
PromptImageCapabilities        Prompts may hold images.
PromptAudioCapabilities        Prompts may hold sound.
PromptEmbeddedContextCapabilities Prompts may hold embedded resources.
PromptCapabilities             What prompts may hold beyond text and links.
McpStdioCapabilities           Sessions may use MCP servers over stdio.
McpHttpCapabilities            Sessions may use MCP servers over HTTP.
McpAcpCapabilities             Sessions may use MCP servers the client hosts.
McpCapabilities                The MCP servers sessions may use.
SessionDeleteCapabilities      Sessions can be deleted.
SessionAdditionalDirectoriesCapabilities Sessions can have more roots than their directory.
SessionForkCapabilities        Sessions can be forked.
SessionCapabilities            The agent has sessions; an empty object is the whole baseline (INI-15).
AgentAuthCapabilities          Room for extensions; whether a login exists is told by the auth methods (AUTH-2).
ProvidersCapabilities          The agent's model endpoints can be listed and routed elsewhere.
AgentCapabilities              What an agent can do.
TerminalAuthCapabilities       The client can run a login in a terminal.
AuthCapabilities               The logins the client can carry out.
ElicitationFormCapabilities    The client can show forms.
ElicitationUrlCapabilities     The client can open URLs.
ElicitationCapabilities        How the client can ask the user; an empty object is no way at all.
ClientCapabilities             What a client can do.
Implementation                 The name and version of a program that speaks the protocol.
InitializeRequest              Opens a connection: version, who is calling, what it can do.
InitializeResponse             The version to speak, who answers, what it can do.
LlmProtocol                    The API a model endpoint speaks.
ProviderCurrentConfig          Where a provider's requests go now.
ProviderInfo                   A model endpoint of the agent; without a current configuration it is off.
ListProvidersRequest           Asks for the agent's model endpoints.
ListProvidersResponse          The agent's model endpoints.
SetProviderRequest             Routes a provider elsewhere, replacing all it had; headers may be secrets (SEC-2).
SetProviderResponse            The provider is routed.
DisableProviderRequest         Turns a provider off.
DisableProviderResponse        The provider is off.
Position                       A place in a document, counted from zero in the negotiated encoding.
Range                          From one place up to, but not including, another.
TextDocumentContentChangeEvent One edit, or the whole text when there is no range.
DidOpenDocumentNotification    A document was opened, with its text.
DidChangeDocumentNotification  A document changed.
DidCloseDocumentNotification   A document was closed.
DidSaveDocumentNotification    A document was saved.
DidFocusDocumentNotification   The user looks at a document, here.
WorkspaceFolder                A folder of the editor's workspace.
NesRepository                  The repository the workspace is a copy of.
StartNesRequest                Opens a session for edit suggestions; its ids are not those of other sessions.
StartNesResponse               The suggestion session.
CloseNesRequest                Closes a suggestion session.
CloseNesResponse               The suggestion session is closed.
NesTriggerKind                 What made the client ask for suggestions.
NesDiagnosticSeverity          How bad a diagnostic is.
NesRecentFile                  A recently visited file.
NesExcerpt                     Some lines of a file.
NesRelatedSnippet              Lines of a file that have to do with the place in question.
NesEditHistoryEntry            An edit made before.
NesUserAction                  Something the user did, with its time in milliseconds since 1970.
NesOpenFile                    A file open in the editor.
NesDiagnostic                  An error or a warning at a place.
NesSuggestContext              What surrounds a request for suggestions.
SuggestNesRequest              Asks what the user may want to edit next.
NesTextEdit                    A range and what it becomes.
NesEditSuggestion              Suggests edits to a file.
NesJumpSuggestion              Suggests a place to go to.
NesRenameSuggestion            Suggests renaming the symbol at a place.
NesSearchAndReplaceSuggestion  Suggests replacing all of something in a file.
NesSuggestion                  One suggestion.
SuggestNesResponse             The suggestions, best first.
AcceptNesNotification          The user took a suggestion.
NesRejectReason                Why a suggestion was not taken.
RejectNesNotification          The user did not take a suggestion.
"""

MEANINGS: Final[dict[str, str]] = {
    name: meaning for line in _TEXT.split("\n") if line for name, meaning in [line.split(maxsplit=1)]
}
