# Called by kudos_embed_sql. C++ limits one raw string literal to 64 KiB in some compilers: each file stays below.
set(text "#include \"db/migrator.h\"\n\nnamespace kudos::sql {\nextern const std::vector<db::SqlFile> ${SYMBOL} = {\n")
foreach(file IN LISTS FILES)
  get_filename_component(name ${file} NAME_WE)
  file(READ ${file} content)
  string(APPEND text "    {\"${name}\", R\"kudos_sql(${content})kudos_sql\"},\n")
endforeach()
string(APPEND text "};\n}  // namespace kudos::sql\n")
file(WRITE ${OUTPUT} "${text}")
