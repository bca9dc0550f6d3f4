/* A small ACP v2 agent as a WASI module: says what it is told, reads and writes a file under its session's root.
 * Prompts: "read PATH", "write PATH", "eat MEGABYTES", "given" (what it was started with); anything else is said
 * back. Enough JSON for that, no more. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char line[1 << 16];

static const char *member(const char *name, char *out, size_t size) {
    char key[64];
    snprintf(key, sizeof key, "\"%s\":\"", name);
    const char *at = strstr(line, key);
    if (!at) return NULL;
    at += strlen(key);
    size_t used = 0;
    while (*at && *at != '"' && used + 1 < size) {
        if (*at == '\\' && at[1]) at++;
        out[used++] = *at++;
    }
    out[used] = 0;
    return out;
}

static const char *id(char *out, size_t size) {
    const char *at = strstr(line, "\"id\":");
    if (!at) return NULL;
    at += 5;
    size_t used = 0;
    while (*at && *at != ',' && *at != '}' && used + 1 < size) out[used++] = *at++;
    out[used] = 0;
    return out;
}

static void say(const char *text) {
    printf("{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"sessionId\":\"wasm-1\",\"update\":"
           "{\"sessionUpdate\":\"agent_message_chunk\",\"messageId\":\"m\",\"content\":"
           "{\"type\":\"text\",\"text\":\"%s\"}}}}\n", text);
}

static void state(const char *rest) {
    printf("{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"sessionId\":\"wasm-1\",\"update\":"
           "{\"sessionUpdate\":\"state_update\",%s}}}\n", rest);
}

static int arguments;
static char **argument;

static void work(const char *text) {
    char answer[4096];
    if (!strncmp(text, "read ", 5)) {
        FILE *file = fopen(text + 5, "r");
        if (!file) { say("cannot read"); return; }
        size_t got = fread(answer, 1, sizeof answer - 1, file);
        answer[got] = 0;
        fclose(file);
        say(answer);
    } else if (!strncmp(text, "write ", 6)) {
        FILE *file = fopen(text + 6, "w");
        if (!file) { say("cannot write"); return; }
        fputs("written by wasm", file);
        fclose(file);
        say("written");
    } else if (!strncmp(text, "eat ", 4)) {
        size_t wanted = (size_t)atoi(text + 4) << 20;
        char *memory = malloc(wanted);
        if (!memory) { say("no memory"); return; }
        memset(memory, 1, wanted);
        snprintf(answer, sizeof answer, "ate %d", memory[wanted - 1]);
        say(answer);
        free(memory);
    } else if (!strcmp(text, "given")) {
        const char *greeting = getenv("GREETING");
        size_t used = (size_t)snprintf(answer, sizeof answer, "GREETING=%s", greeting ? greeting : "");
        for (int i = 1; i < arguments && used < sizeof answer; i++)
            used += (size_t)snprintf(answer + used, sizeof answer - used, " %s", argument[i]);
        say(answer);
    } else {
        say(text);
    }
}

int main(int argc, char **argv) {
    char request[64], method[64], text[4096];
    arguments = argc;
    argument = argv;
    setvbuf(stdout, NULL, _IOLBF, 1 << 12);
    fprintf(stderr, "wasm agent with %d arguments, GREETING=%s\n", argc - 1, getenv("GREETING") ? getenv("GREETING") : "");
    while (fgets(line, sizeof line, stdin)) {
        if (!id(request, sizeof request) || !member("method", method, sizeof method)) continue;
        if (!strcmp(method, "initialize")) {
            printf("{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"protocolVersion\":2,\"info\":{\"name\":\"wasm\","
                   "\"version\":\"1\"},\"capabilities\":{\"session\":{}}}}\n", request);
        } else if (!strcmp(method, "session/new")) {
            printf("{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"sessionId\":\"wasm-1\"}}\n", request);
        } else {
            printf("{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{}}\n", request);
        }
        if (!strcmp(method, "session/prompt") && member("text", text, sizeof text)) {
            state("\"state\":\"running\"");
            work(text);
            state("\"state\":\"idle\",\"stopReason\":\"end_turn\"");
        }
        fflush(stdout);
    }
    return 0;
}
