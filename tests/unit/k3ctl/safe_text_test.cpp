#include "api/k3ctl/safe_text.hpp"

#include <gtest/gtest.h>

namespace k3d::cli {
namespace {

TEST(SafeText, F49_nothing_that_a_terminal_would_obey_gets_through) {
  EXPECT_EQ(safe_text("\x1b]0;title\x07"), "\\x1b]0;title\\x07");
  EXPECT_EQ(safe_text("\x1b[2J\x1b[H"), "\\x1b[2J\\x1b[H");
  EXPECT_EQ(safe_text("a\rb\bc\x7f"), "a\\x0db\\x08c\\x7f");
  EXPECT_EQ(safe_text("\xc2\x9b"
                      "2J"),
            "\\x9b2J");  // CSI as one C1 character
  EXPECT_EQ(safe_text("\xe2\x80\xae"
                      "evil"),
            "\\u202eevil");  // right to left
  EXPECT_EQ(safe_text(std::string_view("\0x", 2)), "\\x00x");
}

TEST(SafeText, F49_bytes_that_are_not_utf8_are_replaced_one_by_one) {
  const std::string r = "\xef\xbf\xbd";
  EXPECT_EQ(safe_text("a\xff"
                      "b"),
            "a" + r + "b");
  EXPECT_EQ(safe_text("\xc0\xaf"), r + r);          // overlong
  EXPECT_EQ(safe_text("\xed\xa0\x80"), r + r + r);  // surrogate
  EXPECT_EQ(safe_text("\xe4\xbd"), r + r);          // cut off
  EXPECT_EQ(safe_text("\xf4\x90\x80\x80"), r + r + r + r);
}

TEST(SafeText, text_of_people_stays) {
  EXPECT_EQ(safe_text("Grüße, 你好 😀"), "Grüße, 你好 😀");
  EXPECT_EQ(safe_text("\x1b[1;32mgreen\x1b[0m"), "green");
  EXPECT_EQ(safe_text("a\nb\tc"), "a b c");
  EXPECT_EQ(safe_text("a\nb\tc", Lines::many), "a\nb\tc");
}

TEST(DisplayWidth, counts_code_points) {
  EXPECT_EQ(display_width("Grüße"), 5u);
}

TEST(ShellLine, is_read_back_as_the_same_words) {
  EXPECT_EQ(shell_line({"docker", "run", "--env=A=1", "a b", "it's", "", "$x"}),
            "docker run --env=A=1 'a b' 'it'\\''s' '' '$x'");
  EXPECT_EQ(shell_line({"blk\\.(1|2)=CPU"}), "'blk\\.(1|2)=CPU'");
}

}  // namespace
}  // namespace k3d::cli
