"""By hand: the file each type lives in, and the names of types the schema leaves unnamed."""

from __future__ import annotations

from typing import Final

TOPICS: Final[dict[str, tuple[str, str]]] = {
    # topic: (what the file is for, its types in order)
    "ids": (
        "Identifiers and other plain strings and numbers with a name of their own.",
        """SessionId MessageId ToolCallId TerminalId PlanId PermissionOptionId ElicitationId SessionConfigId
        SessionConfigValueId SessionConfigGroupId SessionListCursor AuthMethodId ProviderId McpServerAcpId
        McpConnectionId NesSuggestionId AbsolutePath MediaType ProtocolVersion RequestId""",
    ),
    "rpc": (
        "What every method shares: errors, request cancellation, extensions.",
        "ErrorCode Error CancelRequestNotification ExtRequest ExtResponse ExtNotification",
    ),
    "content": (
        "Content blocks: what messages and tool results are made of.",
        """Role Annotations IconTheme Icon TextResourceContents BlobResourceContents EmbeddedResourceResource
        TextContent ImageContent AudioContent ResourceLink EmbeddedResource ContentBlock""",
    ),
    "diffs": (
        "Changes to files as a tool call shows them.",
        """DiffFileType DiffPatchFormat DiffPatch DiffPathChange DiffPathPairChange DiffAdd DiffDelete DiffModify
        DiffMove DiffCopy DiffChange Diff""",
    ),
    "terminals": (
        "Terminals the agent runs and the client shows.",
        "Terminal TerminalOutput TerminalExitStatus TerminalUpdate TerminalOutputChunk",
    ),
    "tools": (
        "Tool calls: their patches, their content, where they look.",
        """ToolKind ToolCallStatus ToolCallLocation Content ToolCallContent ToolCallUpdate SessionToolCallUpdate
        ToolCallContentChunk""",
    ),
    "plans": (
        "Plans, each replaced as a whole under its planId.",
        """PlanEntryPriority PlanEntryStatus PlanEntry PlanItems PlanFile PlanMarkdown PlanUpdateContent PlanUpdate
        PlanRemoved""",
    ),
    "messages": (
        "Messages and thoughts, streamed in chunks or set as a whole.",
        """ContentChunk UserMessageChunk AgentMessageChunk AgentThoughtChunk UserMessage AgentMessage AgentThought""",
    ),
    "state": (
        "Whether a session works, waits for the user or is idle, and why it stopped.",
        """StopReason Usage RunningStateUpdate IdleStateUpdate RequiresActionStateUpdate StateUpdate""",
    ),
    "config": (
        "Session settings the client may offer to the user.",
        """SessionConfigOptionCategory SessionConfigSelectOption SessionConfigSelectGroup SessionConfigSelectOptions
        SessionConfigSelect SessionConfigBoolean SessionConfigOption ConfigOptionUpdate SetSessionConfigIdRequest
        SetSessionConfigBooleanRequest SetSessionConfigOptionRequest SetSessionConfigOptionResponse""",
    ),
    "updates": (
        "session/update: everything observable about a session.",
        """TextCommandInput AvailableCommandInput AvailableCommand AvailableCommandsUpdate SessionInfoUpdate Cost
        UsageUpdate SessionUpdate UpdateSessionNotification""",
    ),
    "mcp": (
        "MCP servers given to a session, and MCP messages carried over ACP.",
        """EnvVariable HttpHeader McpServerHttp McpServerStdio McpServerAcp McpServer ConnectMcpRequest
        ConnectMcpResponse DisconnectMcpRequest DisconnectMcpResponse MessageMcpRequest MessageMcpResponse
        MessageMcpNotification""",
    ),
    "sessions": (
        "The life of a session: new, list, resume, fork, close, delete.",
        """NewSessionRequest NewSessionResponse SessionInfo ListSessionsRequest ListSessionsResponse ReplayFromStart
        ReplayFrom ResumeSessionRequest ResumeSessionResponse ForkSessionRequest ForkSessionResponse
        CloseSessionRequest CloseSessionResponse DeleteSessionRequest DeleteSessionResponse""",
    ),
    "prompts": (
        "Giving the agent work, and stopping it.",
        "PromptRequest PromptResponse CancelSessionNotification",
    ),
    "permissions": (
        "Asking the user before something is done.",
        """PermissionOptionKind PermissionOption ToolCallPermissionSubject CommandPermissionSubject
        RequestPermissionSubject RequestPermissionRequest CancelledPermissionOutcome SelectedPermissionOutcome
        RequestPermissionOutcome RequestPermissionResponse""",
    ),
    "forms": (
        "The restricted JSON schema of elicitation forms, and the values that answer them.",
        """StringFormat EnumOption StringPropertySchema NumberPropertySchema IntegerPropertySchema
        BooleanPropertySchema StringMultiSelectItems TitledMultiSelectItems TaggedMultiSelectItems MultiSelectItems
        MultiSelectPropertySchema ElicitationPropertySchema ElicitationSchemaType ElicitationSchema
        ElicitationContentValue""",
    ),
    "elicitation": (
        "Asking the user for data, by form or by URL.",
        """ElicitationSessionScope ElicitationRequestScope CreateFormElicitationRequest CreateUrlElicitationRequest
        CreateElicitationRequest AcceptElicitationResponse DeclineElicitationResponse CancelElicitationResponse
        CreateElicitationResponse CompleteElicitationNotification""",
    ),
    "auth": (
        "How a user logs in to an agent.",
        """AuthEnvVar AuthMethodEnvVar AuthMethodTerminal AuthMethodAgent AuthMethod LoginAuthRequest
        LoginAuthResponse LogoutAuthRequest LogoutAuthResponse""",
    ),
    "nes_capabilities": (
        "What either side can do about next-edit suggestions.",
        """PositionEncodingKind TextDocumentSyncKind NesDocumentDidOpenCapabilities NesDocumentDidChangeCapabilities
        NesDocumentDidCloseCapabilities NesDocumentDidSaveCapabilities NesDocumentDidFocusCapabilities
        NesDocumentEventCapabilities NesEventCapabilities NesRecentFilesCapabilities NesRelatedSnippetsCapabilities
        NesEditHistoryCapabilities NesUserActionsCapabilities NesOpenFilesCapabilities NesDiagnosticsCapabilities
        NesContextCapabilities NesCapabilities NesJumpCapabilities NesRenameCapabilities NesSearchAndReplaceCapabilities
        ClientNesCapabilities""",
    ),
    "capabilities": (
        "What each side says it can do. Omitted and null mean no, an empty object means yes.",
        """PromptImageCapabilities PromptAudioCapabilities PromptEmbeddedContextCapabilities PromptCapabilities
        McpStdioCapabilities McpHttpCapabilities McpAcpCapabilities McpCapabilities SessionDeleteCapabilities
        SessionAdditionalDirectoriesCapabilities SessionForkCapabilities SessionCapabilities AgentAuthCapabilities
        ProvidersCapabilities AgentCapabilities TerminalAuthCapabilities AuthCapabilities ElicitationFormCapabilities
        ElicitationUrlCapabilities ElicitationCapabilities ClientCapabilities""",
    ),
    "initialize": (
        "The first exchange of a connection.",
        "Implementation InitializeRequest InitializeResponse",
    ),
    "providers": (
        "Which model endpoints an agent uses, and how to route them elsewhere.",
        """LlmProtocol ProviderCurrentConfig ProviderInfo ListProvidersRequest ListProvidersResponse
        SetProviderRequest SetProviderResponse DisableProviderRequest DisableProviderResponse""",
    ),
    "documents": (
        "Open documents, kept in step with the editor.",
        """Position Range TextDocumentContentChangeEvent DidOpenDocumentNotification DidChangeDocumentNotification
        DidCloseDocumentNotification DidSaveDocumentNotification DidFocusDocumentNotification""",
    ),
    "nes": (
        "Next-edit suggestions: sessions, context, suggestions and their fate.",
        """WorkspaceFolder NesRepository StartNesRequest StartNesResponse CloseNesRequest CloseNesResponse
        NesTriggerKind NesDiagnosticSeverity NesRecentFile NesExcerpt NesRelatedSnippet NesEditHistoryEntry
        NesUserAction NesOpenFile NesDiagnostic NesSuggestContext SuggestNesRequest NesTextEdit NesEditSuggestion
        NesJumpSuggestion NesRenameSuggestion NesSearchAndReplaceSuggestion NesSuggestion SuggestNesResponse
        AcceptNesNotification NesRejectReason RejectNesNotification""",
    ),
}

# An arm gets the name of its payload's definition, unless several arms share one, the payload is also a plain field,
# or the arm is the whole request or response: then it is named here.
ARM_NAMES: Final[dict[tuple[str, str], str]] = {
    ("SessionUpdate", "user_message_chunk"): "UserMessageChunk",
    ("SessionUpdate", "agent_message_chunk"): "AgentMessageChunk",
    ("SessionUpdate", "agent_thought_chunk"): "AgentThoughtChunk",
    ("SessionUpdate", "tool_call_update"): "SessionToolCallUpdate",
    ("DiffChange", "add"): "DiffAdd",
    ("DiffChange", "delete"): "DiffDelete",
    ("DiffChange", "modify"): "DiffModify",
    ("DiffChange", "move"): "DiffMove",
    ("DiffChange", "copy"): "DiffCopy",
    ("RequestPermissionOutcome", "cancelled"): "CancelledPermissionOutcome",
    ("CreateElicitationRequest", "form"): "CreateFormElicitationRequest",
    ("CreateElicitationRequest", "url"): "CreateUrlElicitationRequest",
    ("CreateElicitationResponse", "accept"): "AcceptElicitationResponse",
    ("CreateElicitationResponse", "decline"): "DeclineElicitationResponse",
    ("CreateElicitationResponse", "cancel"): "CancelElicitationResponse",
    ("SetSessionConfigOptionRequest", "id"): "SetSessionConfigIdRequest",
    ("SetSessionConfigOptionRequest", "boolean"): "SetSessionConfigBooleanRequest",
}

# Definitions whose optional fields tell omitted, null and a value apart. The schema says so only in prose.
PATCHES: Final = frozenset(
    {"ToolCallUpdate", "TerminalUpdate", "UserMessage", "AgentMessage", "AgentThought", "SessionInfoUpdate"}
)


def topic_of() -> dict[str, str]:
    """Type name to topic."""
    return {name: topic for topic, (_, names) in TOPICS.items() for name in names.split()}
