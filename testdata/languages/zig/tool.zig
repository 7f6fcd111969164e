//! The tools in Zig, which speak the wagent ABI themselves.
const std = @import("std");
const Value = std.json.Value;
const Allocator = std.mem.Allocator;

var calls: u32 = 0;

/// What a call has, from its request to the answer that the host reads after it.
var arena = std.heap.ArenaAllocator.init(std.heap.wasm_allocator);

/// The room that calls have without asking for more memory.
const room = 256 << 10;

const Tool = struct {
    name: []const u8,
    about: []const u8,
    schema: []const u8,
    call: *const fn (Allocator, Value) anyerror![]const u8,
};

const tools = [_]Tool{
    .{
        .name = "word_count",
        .about = "Counts the words of a text.",
        .schema = "{\"type\":\"object\",\"properties\":{\"text\":{\"type\":\"string\"}},\"required\":[\"text\"]}",
        .call = wordCount,
    },
    .{ .name = "counter", .about = "Says how often this guest was called.", .schema = "{\"type\":\"object\"}", .call = counter },
    .{ .name = "spin", .about = "Never ends.", .schema = "{\"type\":\"object\"}", .call = spin },
    .{ .name = "dive", .about = "Calls itself without an end.", .schema = "{\"type\":\"object\"}", .call = dive },
};

const Word = struct {
    word: []const u8,
    count: u32,

    fn before(_: void, a: Word, b: Word) bool {
        return if (a.count != b.count) a.count > b.count else std.mem.lessThan(u8, a.word, b.word);
    }
};

const Result = struct {
    words: usize,
    distinct: usize,
    spaces: usize,
    mean: f64,
    top: []const Word,
};

const blanks = " \t\n\x0b\x0c\r";

/// spaces counts white space, sixteen bytes at a time.
fn spaces(text: []const u8) usize {
    const Bytes = @Vector(16, u8);
    var n: usize = 0;
    var rest = text;
    while (rest.len >= 16) : (rest = rest[16..]) {
        const b: Bytes = rest[0..16].*;
        const blank: u16 = @bitCast(b == @as(Bytes, @splat(' ')));
        const control: u16 = @bitCast(b -% @as(Bytes, @splat('\t')) < @as(Bytes, @splat(5)));
        n += @popCount(blank | control);
    }
    for (rest) |c| n += @intFromBool(std.mem.indexOfScalar(u8, blanks, c) != null);
    return n;
}

fn wordCount(a: Allocator, arguments: Value) ![]const u8 {
    if (arguments != .object) return error.Input;
    const text = switch (arguments.object.get("text") orelse return error.Input) {
        .string => |s| s,
        else => return error.Input,
    };
    var counts = std.StringHashMap(u32).init(a);
    var words: usize = 0;
    var each = std.mem.tokenizeAny(u8, text, blanks);
    while (each.next()) |word| : (words += 1) {
        const entry = try counts.getOrPutValue(word, 0);
        entry.value_ptr.* += 1;
    }
    var top = try std.ArrayList(Word).initCapacity(a, counts.count());
    var entries = counts.iterator();
    while (entries.next()) |e| top.appendAssumeCapacity(.{ .word = e.key_ptr.*, .count = e.value_ptr.* });
    std.mem.sort(Word, top.items, {}, Word.before);
    const blank = spaces(text);
    const letters: f64 = @floatFromInt(text.len - blank);
    return std.json.stringifyAlloc(a, Result{
        .words = words,
        .distinct = top.items.len,
        .spaces = blank,
        .mean = if (words == 0) 0 else @floor(letters / @as(f64, @floatFromInt(words)) * 100 + 0.5) / 100,
        .top = top.items[0..@min(3, top.items.len)],
    }, .{});
}

fn counter(a: Allocator, _: Value) ![]const u8 {
    calls += 1;
    return std.fmt.allocPrint(a, "{d}", .{calls});
}

fn spin(_: Allocator, _: Value) ![]const u8 {
    const seen: *volatile u32 = &calls;
    while (true) seen.* +%= 1;
}

fn dive(a: Allocator, _: Value) ![]const u8 {
    return std.fmt.allocPrint(a, "{d}", .{down(1)});
}

fn down(n: u32) u32 {
    const seen: *volatile u32 = &calls;
    return if (seen.* > 1 << 30) n else down(n +% 1) *% 31 ^ n;
}

fn give(out: []const u8) u64 {
    return @as(u64, @intFromPtr(out.ptr)) << 32 | out.len;
}

export fn wagent_abi() u32 {
    return 1;
}

export fn _initialize() void {
    _ = arena.allocator().alloc(u8, room) catch {};
}

export fn wagent_alloc(size: u32) ?[*]u8 {
    _ = arena.reset(.retain_capacity);
    return (arena.allocator().alloc(u8, size) catch return null).ptr;
}

fn describe(a: Allocator) ![]const u8 {
    var out = std.ArrayList(u8).init(a);
    try out.appendSlice("{\"tools\":");
    for (tools, 0..) |t, i| {
        try out.writer().print("{c}{{\"name\":\"{s}\",\"description\":\"{s}\",\"inputSchema\":{s}}}", .{
            @as(u8, if (i > 0) ',' else '['), t.name, t.about, t.schema,
        });
    }
    try out.appendSlice("]}");
    return out.items;
}

export fn wagent_describe() u64 {
    _ = arena.reset(.retain_capacity);
    return give(describe(arena.allocator()) catch "{}");
}

fn answer(a: Allocator, request: []const u8) ![]const u8 {
    const r = try std.json.parseFromSliceLeaky(struct { tool: []const u8, arguments: Value }, a, request, .{ .ignore_unknown_fields = true });
    for (tools) |t| {
        if (std.mem.eql(u8, t.name, r.tool)) return t.call(a, r.arguments);
    }
    return error.NotFound;
}

export fn wagent_call(at: [*]u8, size: u32) u64 {
    return give(answer(arena.allocator(), at[0..size]) catch |err| switch (err) {
        error.Input => "{\"v\":1,\"error\":{\"kind\":\"input\",\"message\":\"text is missing\"}}",
        error.NotFound => "{\"v\":1,\"error\":{\"kind\":\"not_found\",\"message\":\"no such tool\"}}",
        else => "{\"v\":1,\"error\":{\"kind\":\"internal\",\"message\":\"the request is not whole\"}}",
    });
}
