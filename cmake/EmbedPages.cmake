# cmake -DFOLDER=docs/errors -DOUTPUT=ErrorPages.inc -P EmbedPages.cmake
#
# Writes each page E1234.md of a folder as a row of C++: {"E1234", R"page(…)page"},
file(GLOB pages "${FOLDER}/E*.md")
list(SORT pages)
set(rows "")
foreach(page IN LISTS pages)
  get_filename_component(name "${page}" NAME_WE)
  file(READ "${page}" text)
  string(APPEND rows "{\"${name}\", R\"page(${text})page\"},\n")
endforeach()
file(WRITE "${OUTPUT}" "${rows}")
